package service

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// This file says who may do what. A token has a right to some collections, or to all.
//
// A request is authorized before its body is read, and by the grants of that moment: a reload changes what
// comes next, and nothing that is under way. Errors never have a token or a part of one, wherever in the
// line it stands (FuzzTokens).

// A level is what a right allows. Each allows what those before it do.
type level int

const (
	read level = iota
	write
	admin
)

var levels = map[string]level{"read": read, "write": write, "admin": admin}

// A right is what an operation needs. Without named, admin needs a grant for *, and read any grant: those
// operations list only what mayRead allows.
type right struct {
	level level
	named bool // to the collection of the path
}

// A grant is a token and its rights. Only a hash of the token is kept, which also makes all of them equally
// long for the comparison.
type grant struct {
	name        string
	hash        [sha256.Size]byte
	level       level
	collections []string // "*" is all
}

// Tokens are all tokens of a service. They are read from a file, of which each line has a name, a token, a level and collections:
//
//	# name    token                             level  collections
//	crawler   q7Jt0mQ2oRk1Zs4Vx8Yb3Nc6Df9Gh5Lp  write  pages,mails
//	operator  Zp3Kd8Wq1Xr6Ty0Uv5Bn2Mc7As4Ef9Hj  admin  *
//
// The level read allows searching, write also allows storing and deleting, and admin allows making, removing and backing up collections.
// With * it applies to all collections, and an admin of all sees the metrics. A token has at least 16 bytes and no white
// space. The name appears in the log of what admins do.
type Tokens struct {
	path string
	// The grants are replaced as a whole, so a request reads either the old ones or the new ones without a
	// lock.
	grants atomic.Pointer[[]grant]
}

// ReadTokens reads a file of tokens.
func ReadTokens(path string) (*Tokens, error) {
	t := &Tokens{path: path}
	return t, t.reload()
}

// reload reads the file again. After an error the tokens are what they were. A file without tokens is an
// error too.
func (t *Tokens) reload() error {
	text, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	var grants []grant
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		g, err := grantOf(f)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", t.path, n, err) // without the line, which may have a token
		}
		if slices.ContainsFunc(grants, func(o grant) bool { return o.name == g.name || o.hash == g.hash }) {
			return fmt.Errorf("%s:%d: an earlier line has the same name or token", t.path, n)
		}
		grants = append(grants, g)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	if len(grants) == 0 {
		return fmt.Errorf("%s: the file has no tokens", t.path)
	}
	t.grants.Store(&grants)
	return nil
}

// grantOf returns what the fields of a line say.
func grantOf(f []string) (g grant, err error) {
	if len(f) != 4 {
		return g, fmt.Errorf("a line must have a name, a token, a level and collections, but this one has %d fields", len(f))
	}
	l, ok := levels[f[2]]
	if !ok {
		return g, fmt.Errorf("the level must be read, write or admin")
	}
	if len(f[1]) < 16 {
		return g, fmt.Errorf("a token of fewer than 16 bytes can be guessed")
	}
	g = grant{f[0], sha256.Sum256([]byte(f[1])), l, strings.Split(f[3], ",")}
	for _, c := range g.collections {
		if c != "*" && !names.MatchString(c) {
			return g, errors.New("the last field must be names of collections, or *") // it may be a token in the wrong place
		}
	}
	return g, nil
}

// find returns the grant of a token, or nil. Its time depends on the number of tokens, and not on what they
// are. It goes on after the right one for that reason.
func (t *Tokens) find(token string) (found *grant) {
	hash := sha256.Sum256([]byte(token))
	all := *t.grants.Load()
	for i := range all {
		if subtle.ConstantTimeCompare(all[i].hash[:], hash[:]) == 1 {
			found = &all[i]
		}
	}
	return found
}

// may reports whether a grant allows something in a collection; "" is for what concerns none.
func (g *grant) may(l level, collection string) bool {
	if g == nil || g.level < l {
		return false
	}
	// A list is open to every token, and shows only collections that the token may read.
	return collection == "" && l == read || slices.Contains(g.collections, "*") || slices.Contains(g.collections, collection)
}

// grantKey is where the context of a request has the grant.
type grantKey struct{}

// mayRead reports whether a request may know of a collection. Without Tokens there is no grant in the
// context, and everything may be read.
func mayRead(ctx context.Context, collection string) bool {
	g, hasTokens := ctx.Value(grantKey{}).(*grant)
	return !hasTokens || g.may(read, collection)
}

// authorize refuses requests without the right that their operation needs, and those that come too fast.
// The rate comes first: otherwise somebody could try tokens as fast as the network allows. A wrong token
// counts for the address that it comes from. A collection that the token has no right to gets 403 whether
// it is there or not.
func (s *Service) authorize(ctx huma.Context, next func(huma.Context)) {
	needs := ctx.Operation().Metadata["right"].(right)
	collection := ""
	if needs.named {
		collection = ctx.Param("name")
	}
	g, token := s.grantOf(ctx.Header("Authorization")), ""
	if g != nil {
		token = g.name
	}
	if wait, ok := s.limits.allow(token, addressOf(ctx.RemoteAddr()), time.Now()); !ok {
		ctx.SetHeader("Retry-After", seconds(wait))
		huma.WriteErr(s.api, ctx, http.StatusTooManyRequests, "too many requests per second")
		return
	}
	if s.options.Tokens != nil {
		if g == nil {
			// RFC 9110, section 15.5.2, demands this header of a 401.
			ctx.SetHeader("WWW-Authenticate", `Bearer realm="neardup"`)
			huma.WriteErr(s.api, ctx, http.StatusUnauthorized, "a token is needed: Authorization: Bearer TOKEN")
			return
		}
		if !g.may(needs.level, collection) {
			huma.WriteErr(s.api, ctx, http.StatusForbidden, "the token does not allow this")
			return
		}
		ctx = huma.WithValue(ctx, grantKey{}, g)
	}
	if needs.level == admin {
		s.log.Info("admin", "operation", ctx.Operation().OperationID, "collection", collection, "token", token)
	}
	next(ctx)
}

// grantOf returns the grant of a header Authorization, or nil. The name of the scheme may be in upper or
// lower case (RFC 9110, section 11.1).
func (s *Service) grantOf(header string) *grant {
	scheme, token, _ := strings.Cut(header, " ")
	if s.options.Tokens == nil || !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	return s.options.Tokens.find(strings.TrimSpace(token))
}

// onlyAdmin is a handler for those who may do everything. It is for handlers that huma does not know, and
// that authorize does not see; no rate applies to them.
func (s *Service) onlyAdmin(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g := s.grantOf(r.Header.Get("Authorization")); s.options.Tokens != nil && !g.may(admin, "*") {
			status := http.StatusUnauthorized
			if g != nil {
				status = http.StatusForbidden
			}
			http.Error(w, "an admin token for all collections is needed", status)
			return
		}
		h.ServeHTTP(w, r)
	})
}
