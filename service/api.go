package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/service/client"
)

// This file has the operations, and turns errors into answers. huma reads and checks a request by the types
// and tags of its input before it calls the operation, and makes the OpenAPI description of the same types.
// So an operation sees only requests that the description allows, and checks by itself only what a schema
// cannot say.

// apiConfig describes the service as a whole.
func apiConfig() huma.Config {
	c := huma.DefaultConfig("neardup", "1")
	c.Info.Description = "Collections of texts that find near-duplicates. When the service answers a change, the change is on disk. Errors are application/problem+json."
	c.CreateHooks = nil // answers have no $schema
	c.DocsPath = ""     // it would load a program from another site
	inUTF8 := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: func(text []byte, v any) error {
		if !utf8.Valid(text) { // package json would replace what is not, without a word
			return errors.New("the body is not UTF-8")
		}
		if hasManyValues(text) {
			return errors.New("the body has too many values")
		}
		return json.Unmarshal(text, v)
	}}
	// Without a type it is JSON. What curl sends by itself is taken for it too; [http.CrossOriginProtection] keeps forms of other sites away.
	c.Formats = map[string]huma.Format{"application/json": inUTF8, "json": inUTF8, "application/x-www-form-urlencoded": inUTF8}
	c.Servers = []*huma.Server{{URL: "/"}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	return c
}

// hasManyValues reports whether a text has more values than any body that the service wants: as many small
// ones as fit into 8 MB would take hundreds of megabytes. It counts outside of strings only, and before
// anything is decoded: huma decodes a body into values of type any before it looks at the schema. Batches
// do not go through it; their lines are decoded one by one.
func hasManyValues(text []byte) bool {
	// The largest body of an operation, the settings, has six fields.
	const most = 1000
	n, inString := 0, false
	for i := 0; i < len(text) && n <= most; i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n > most
}

// A Named request is about a collection. It is exported because huma only sets what is exported.
type Named struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_]{0,31}$" doc:"the name of the collection: up to 32 letters, digits and underscores"`
}

// A Limited request says how many matches are listed.
type Limited struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"the largest number of matches to list"`
}

// body is an answer with a body. huma wants the field Body.
type body[T any] struct{ Body T }

// register registers all operations. The right of each stands here and nowhere else; authorize reads it
// from the metadata of the operation.
func (s *Service) register() {
	s.api.UseMiddleware(s.authorize)
	const collection = "/v1/collections/{name}"
	add(s, right{read, false}, "GET", "/v1/collections", "list-collections", "List the collections that the token may read", s.list)
	add(s, right{admin, true}, "PUT", collection, "create-collection", "Create a collection, or do nothing if it already exists with the same settings", s.create)
	add(s, right{read, true}, "GET", collection, "get-collection", "Get the settings and the size of a collection", s.info)
	add(s, right{admin, true}, "DELETE", collection, "delete-collection", "Delete a collection and its files; data in a store is not deleted", s.remove)
	add(s, right{write, true}, "PUT", collection+"/documents", "put", "Store a text, replacing a document with the same id", s.put)
	add(s, right{read, true}, "GET", collection+"/documents", "get", "Get the document with an id", s.get)
	add(s, right{write, true}, "DELETE", collection+"/documents", "delete", "Delete a document", s.delete)
	add(s, right{write, true}, "POST", collection+"/put-if-new", "put-if-new", "Store a text, unless it has near-duplicates, which are listed instead", s.putIfNew)
	add(s, right{read, true}, "POST", collection+"/search", "search", "List the near-duplicates of a text", s.search)
	add(s, right{read, true}, "GET", collection+"/explain", "explain", "Explain why two stored documents are near-duplicates, or not", s.explain)
	add(s, right{write, true}, "POST", collection+"/expire", "expire", "Delete the documents that were stored before a time", s.expire)
	add(s, right{read, false}, "GET", "/v1/decisions", "decisions", "List the latest decisions, newest first", s.decisions)
	s.addStreams(collection)
}

// add registers an operation that has one JSON answer. When huma calls it, the body has been read, so a
// slow sender neither holds a place nor uses up the time. Streams are registered without add: a slow reader
// would hold the place, and the time that they take depends on the collection.
func add[I, O any](s *Service, needs right, method, path, id, summary string, f func(ctx context.Context, in *I) (*O, error)) {
	op := operation(s, needs, method, path, id, summary)
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		var out *O
		// Without a free place the answer is 503 at once; nothing waits in a queue.
		err := s.limits.during(func() (err error) {
			out, err = f(ctx, in)
			return err
		})
		if err != nil {
			return nil, s.answer(id, err)
		}
		return out, nil
	})
}

// operation describes an operation. Errors are for the OpenAPI description only; huma does not restrict the
// answers to them.
func operation(s *Service, needs right, method, path, id, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Metadata: map[string]any{"right": needs},
		MaxBodyBytes: s.options.MaxBody, BodyReadTimeout: s.options.Timeout,
		Errors: []int{400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 501, 503},
	}
}

// A badRequest is an error of the client's. Only what is wrapped in one is told to the client in full, so
// its text must not say anything about other clients or the machine.
type badRequest struct{ error }

// answer returns an error as it is answered. What went wrong inside is logged and not told, because it can
// name files or stores. An error that is an answer already is returned as it is, so it does no harm to call
// answer twice.
func (s *Service) answer(operation string, err error) error {
	var bad badRequest
	var status huma.StatusError
	switch {
	case errors.As(err, &status):
		return err
	case errors.As(err, &bad):
		return huma.Error400BadRequest(bad.Error())
	case errors.Is(err, errNoCollection), errors.Is(err, errUnknown):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, errExists):
		return huma.Error409Conflict(err.Error())
	case errors.Is(err, errUnable):
		return huma.Error501NotImplemented(err.Error())
	case errors.Is(err, errBusy):
		return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(err.Error()), http.Header{"Retry-After": {"1"}})
	// Elsewhere damaged files are a failure of the service. In a restore they come from the client.
	case operation == "restore" && (errors.Is(err, neardup.ErrDamaged) || errors.Is(err, neardup.ErrVersion)):
		return huma.Error400BadRequest("this is not a complete backup that this version can read: " + err.Error())
	case errors.Is(err, context.Canceled):
		return huma.NewError(statusGone, "the client disconnected, or the service is shutting down")
	// A write to the disk goes on after the request has given up, so the change may still take effect.
	case errors.Is(err, context.DeadlineExceeded):
		return huma.Error503ServiceUnavailable("the request took too long; it may or may not have taken effect")
	}
	s.log.Error("failed", "operation", operation, "error", err)
	return huma.Error500InternalServerError("the collection has failed; the log says why")
}

// statusGone is what nginx logs for a client that does not wait for an answer. Nobody reads this answer,
// but the metrics count it apart from failures.
const statusGone = 499

// in calls f with a collection while it is open. A collection that is removed after get has returned it
// gives errNoCollection. f must not call use again: close may be waiting for the lock, and package sync
// prohibits recursive read locks.
func (s *Service) in(name string, f func(c *collection) error) error {
	c, err := s.collections.get(name)
	if err != nil {
		return err
	}
	return c.use(func() error { return f(c) })
}

// checkID returns an error for an id that cannot be stored. The limits are those of blockstore.Store; the
// collections in files have the same ones, so that clients need not care which it is. Ids in a query do not
// go through JSON: there, invalid UTF-8 reads as U+FFFD and is refused too.
func checkID(id string) error {
	for _, r := range id {
		if r == 0 || r == utf8.RuneError { // by which JSON replaces half a surrogate, so different ids would become equal
			return badRequest{errors.New("the id must not contain a NUL byte or the character U+FFFD")}
		}
	}
	if id == "" || len(id) > 1024 {
		return badRequest{errors.New("the id must have 1 to 1024 bytes")}
	}
	return nil
}

func (s *Service) list(ctx context.Context, _ *struct{}) (*body[client.Collections], error) {
	out := &body[client.Collections]{client.Collections{Collections: []client.Info{}}}
	for _, c := range s.collections.all() {
		if mayRead(ctx, c.name) {
			i, err := s.infoOf(ctx, c.name)
			if errors.Is(err, errNoCollection) { // removed meanwhile
				continue
			}
			if err != nil {
				return nil, err
			}
			out.Body.Collections = append(out.Body.Collections, i)
		}
	}
	return out, nil
}

func (s *Service) infoOf(ctx context.Context, name string) (i client.Info, err error) {
	err = s.in(name, func(c *collection) (err error) {
		i = client.Info{Name: name, Settings: c.settings, Bytes: c.size()}
		i.Documents, err = c.engine.len(ctx)
		return err
	})
	return i, err
}

type createInput struct {
	Named
	Body client.Settings
}

type created struct {
	Status int
	Body   client.Info
}

// create answers 201 for a new collection, and 200 if it is there with the same settings. So a client may
// create what it needs at each start.
func (s *Service) create(ctx context.Context, in *createInput) (*created, error) {
	c, isNew, err := s.collections.create(ctx, in.Name, in.Body)
	if err != nil {
		return nil, err
	}
	out := &created{Status: http.StatusOK}
	if isNew {
		out.Status = http.StatusCreated
		s.log.Info("created", "collection", c.name, "method", c.settings.Method)
	}
	out.Body, err = s.infoOf(ctx, in.Name)
	return out, err
}

func (s *Service) info(ctx context.Context, in *Named) (*body[client.Info], error) {
	i, err := s.infoOf(ctx, in.Name)
	return &body[client.Info]{i}, err
}

func (s *Service) remove(_ context.Context, in *Named) (*struct{}, error) {
	err := s.collections.remove(in.Name)
	if _, missing := s.collections.get(in.Name); missing != nil {
		// It is gone, even if some of its files could not be removed. remove has waited for the requests that
		// were using it, so none of them can note a decision after this.
		s.forget(in.Name)
	}
	if err == nil {
		s.log.Info("removed", "collection", in.Name)
	}
	return nil, err
}

type documentInput struct {
	Named
	Body client.Document
}

func (s *Service) put(ctx context.Context, in *documentInput) (*struct{}, error) {
	if err := checkID(in.Body.ID); err != nil {
		return nil, err
	}
	return nil, s.in(in.Name, func(c *collection) error {
		stored := false
		err := c.change(ctx, func() (err error) {
			stored, err = c.engine.put(ctx, in.Body.ID, in.Body.Text)
			return err
		})
		if err != nil {
			return err
		}
		// Decisions are noted when the change is on the disk: what a failing machine forgets must not be
		// among them.
		s.decided(c, "put", client.Decision{ID: in.Body.ID, Added: stored})
		return nil
	})
}

type byID struct {
	Named
	ID string `query:"id" required:"true" doc:"the id of the document"`
}

func (s *Service) get(ctx context.Context, in *byID) (*body[client.Stored], error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	out := &body[client.Stored]{}
	return out, s.in(in.Name, func(c *collection) (err error) {
		var ok bool
		switch out.Body, ok, err = c.engine.get(ctx, in.ID); {
		case err != nil:
			return err
		case !ok:
			return errUnknown
		}
		return c.seen(ctx, in.ID)
	})
}

// delete answers 404 for a missing document only after a write to the disk too. The document may be missing
// because of a deletion that is not there yet.
func (s *Service) delete(ctx context.Context, in *byID) (*struct{}, error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	return nil, s.in(in.Name, func(c *collection) error {
		was := false
		err := c.change(ctx, func() (err error) {
			was, err = c.engine.delete(ctx, in.ID)
			return err
		})
		if err == nil && !was {
			err = errUnknown
		}
		return err
	})
}

type putIfNewInput struct {
	Named
	Limited
	Body client.Document
}

func (s *Service) putIfNew(ctx context.Context, in *putIfNewInput) (*body[client.Decision], error) {
	if err := checkID(in.Body.ID); err != nil {
		return nil, err
	}
	out := &body[client.Decision]{}
	return out, s.in(in.Name, func(c *collection) error {
		found, added, err := c.putIfNew(ctx, in.Body.ID, in.Body.Text, in.Limit)
		if err == nil {
			out.Body = client.Decision{ID: in.Body.ID, Added: added, Found: foundOf(found, in.Limit)}
			s.decided(c, "put-if-new", out.Body)
		}
		return err
	})
}

// foundOf returns the first matches of some. Engines return up to limit+1 matches, so that it can tell
// whether there are more.
func foundOf(all []client.Match, limit int) client.Found {
	return client.Found{Matches: append([]client.Match{}, all[:min(len(all), limit)]...), More: len(all) > limit}
}

type searchInput struct {
	Named
	Limited
	Body struct {
		Text string `json:"text"`
	}
}

// search waits for the disk only if it has found a document that is not there yet.
func (s *Service) search(ctx context.Context, in *searchInput) (*body[client.Found], error) {
	out := &body[client.Found]{}
	return out, s.in(in.Name, func(c *collection) error {
		found, err := c.engine.search(ctx, in.Body.Text, in.Limit)
		if err != nil {
			return err
		}
		if err := c.seen(ctx, idsOf(found)...); err != nil {
			return err
		}
		out.Body = foundOf(found, in.Limit)
		s.decided(c, "search", client.Decision{Found: out.Body})
		return nil
	})
}

type pairInput struct {
	Named
	A string `query:"a" required:"true" doc:"the id of one document"`
	B string `query:"b" required:"true" doc:"the id of the other document"`
}

func (s *Service) explain(ctx context.Context, in *pairInput) (*body[client.Pair], error) {
	out := &body[client.Pair]{}
	return out, s.in(in.Name, func(c *collection) (err error) {
		if out.Body, err = c.engine.explain(ctx, in.A, in.B); err != nil {
			return err
		}
		return c.seen(ctx, in.A, in.B)
	})
}

type expireInput struct {
	Named
	Body struct {
		Before time.Time `json:"before" doc:"documents that were stored before this time are deleted"`
	}
}

// expire does not go through s.in, because c.expire calls use by itself.
func (s *Service) expire(ctx context.Context, in *expireInput) (*body[client.Deleted], error) {
	c, err := s.collections.get(in.Name)
	if err != nil {
		return nil, err
	}
	n, err := c.expire(ctx, in.Body.Before)
	return &body[client.Deleted]{client.Deleted{Deleted: n}}, err
}

// line returns a value as a line of JSON. A value that JSON cannot represent becomes a line with an error:
// clients of a batch count the lines of the answer.
func line(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return append(text, '\n')
}
