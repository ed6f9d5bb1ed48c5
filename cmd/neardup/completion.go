package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// This file lets shells complete commands and flags. What is neither is completed as a file.

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish. For example, put this in ~/.bashrc: source <(neardup completion bash)"`
}

// Run prints what a shell is to read. The commands and flags are those of the program that prints it.
func (c *completionCommand) Run(of *call) error {
	parser, err := kong.New(&grammar{}, kong.Vars(helpVars()))
	if err != nil {
		return err
	}
	switch c.Shell {
	case "bash":
		return bashCompletion(of.stdout, parser.Model)
	case "fish":
		return fishCompletion(of.stdout, parser.Model)
	case "zsh":
		if _, err := fmt.Fprintln(of.stdout, "autoload -U +X bashcompinit && bashcompinit"); err != nil { // which reads the same
			return err
		}
		return bashCompletion(of.stdout, parser.Model)
	}
	return usageError{fmt.Errorf("unknown shell %q: use bash, zsh or fish", c.Shell)}
}

// flagsOf returns the flags of a command as they are written.
func flagsOf(n *kong.Node) (flags []string) {
	for _, f := range n.Flags {
		if !f.Hidden {
			flags = append(flags, "--"+f.Name)
		}
	}
	return append(flags, "--help")
}

// bashCompletion writes a function for bash.
func bashCompletion(w io.Writer, model *kong.Application) error {
	var names []string
	var cases strings.Builder
	for _, c := range model.Children {
		names = append(names, c.Name)
		fmt.Fprintf(&cases, "    %s) words='%s' ;;\n", c.Name, strings.Join(flagsOf(c), " "))
	}
	_, err := fmt.Fprintf(w, `_neardup() {
  local words= now=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '%s --help' -- "$now"))
    return
  fi
  case ${COMP_WORDS[1]} in
%s  esac
  case $now in
  -*) COMPREPLY=($(compgen -W "$words" -- "$now")) ;;
  *) COMPREPLY=($(compgen -f -- "$now")) ;;
  esac
}
complete -o filenames -F _neardup neardup
`, strings.Join(names, " "), cases.String())
	return err
}

// fishCompletion writes lines for fish.
func fishCompletion(w io.Writer, model *kong.Application) error {
	quoted := func(text string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'" }
	for _, c := range model.Children {
		if _, err := fmt.Fprintf(w, "complete -c neardup -n __fish_use_subcommand -f -a %s -d %s\n", c.Name, quoted(c.Help)); err != nil {
			return err
		}
		for _, f := range c.Flags {
			help, _, _ := strings.Cut(f.Help, ". ")
			if _, err := fmt.Fprintf(w, "complete -c neardup -n '__fish_seen_subcommand_from %s' -l %s -d %s\n", c.Name, f.Name, quoted(help)); err != nil {
				return err
			}
		}
	}
	return nil
}
