package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestChats: chats of three shapes are read alike from JSON, Parquet and Arrow: which ones are near-duplicates, and which notes are printed.
func TestChats(t *testing.T) {
	t.Chdir(t.TempDir())
	const question = "How do I change the oil filter of a tractor from the nineties?"
	answers := []string{
		"First switch the engine off and let it cool down, then put a tray under the drain plug and open it slowly.",
		"First switch the engine off and let it cool down, then put a tray under the drain plug and open it slowly. Done.",
		"Nobody knows how to do that with the tools that you have; ask the dealer in the next town for help.",
	}
	shapes := map[string]func(id int, answer string) string{
		"messages": func(id int, answer string) string {
			return fmt.Sprintf(`{"id":"%d","messages":[{"role":"user","content":%q},{"role":"assistant","content":%q}]}`, id, question, answer)
		},
		"conversations": func(id int, answer string) string {
			return fmt.Sprintf(`{"id":"%d","conversations":[{"from":"human","value":%q},{"from":"gpt","value":%q}]}`, id, question, answer)
		},
		"parts": func(id int, answer string) string {
			return fmt.Sprintf(`{"id":"%d","messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"image","text":null}]},{"role":"assistant","content":[{"type":"text","text":%q}]}]}`, id, question, answer)
		},
	}
	for shape, of := range shapes {
		var lines []string
		for id, answer := range answers {
			lines = append(lines, of(id, answer))
		}
		if err := os.WriteFile(shape+".jsonl", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		field, role := "messages", "role=assistant"
		if shape == "conversations" {
			field, role = shape, "from=gpt"
		}
		for _, format := range []string{"jsonl", "parquet", "arrow"} {
			file := shape + "." + format
			if format != "jsonl" {
				if status, _, stderr := callHere("dedup", "--kinds", "identical", shape+".jsonl", "--out", file); status != 0 {
					t.Fatalf("%s: %s", file, stderr)
				}
			}
			for flags, want := range map[string]string{"": "0-1", "--text=" + field: "0-1", "--text=" + field + "[" + role + "]": "0-1", "--text=" + field + "[0]": "0-1 0-2 1-2"} {
				args := []string{"dedup", file, "--pairs", "-"}
				if flags != "" {
					args = append(args, flags)
				}
				status, stdout, stderr := callHere(args...)
				var pairs []string
				for line := range strings.Lines(stdout) {
					cells := strings.Split(line, "\t")
					pairs = append(pairs, cells[0]+"-"+cells[1])
				}
				slices.Sort(pairs)
				if got := strings.Join(pairs, " "); status != 0 || got != want {
					t.Errorf("%s %s: %q, not %q: %s", file, flags, got, want, stderr)
				}
				if notes := fmt.Sprintf("reading %q instead", field); strings.Contains(stderr, notes) != (flags == "") {
					t.Errorf("%s %s: %s", file, flags, stderr)
				}
				if isSaid := strings.Contains(stderr, "not text and are skipped"); isSaid != (shape == "parts" && flags != "--text="+field+"["+role+"]") {
					t.Errorf("%s %s: %s", file, flags, stderr)
				}
			}
		}
	}
}
