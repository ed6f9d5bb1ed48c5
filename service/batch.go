package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/neardup/neardup/service/client"
)

// This file has what is read and written as JSON lines: many documents in a request, and groups.
//
// A batch is answered when all its lines are done and on the disk, with one commit for all of them. So the
// answer is in memory, and the number of lines and of matches has to be limited. Groups change nothing, and
// are streamed.

const (
	ndjson       = "application/x-ndjson"
	mostOrders   = 10_000    // in a batch
	batchBodies  = 4         // a batch may be as long as so many bodies
	batchTime    = 15        // and take as long as so many requests
	defaultLimit = 10        // of the matches of a line
	mostMatches  = 1000      // the same, if it says so
	streamPart   = 256 << 10 // after so many bytes a stream gets more time
	mostListed   = 16 << 20  // bytes of an answer to a batch; the lines after that list no matches but the nearest
)

// addStreams registers what is no single JSON value. None of these goes through add, since their answers
// are not one JSON value. The schemas of their lines are given by hand; huma does not check lines against
// them (see orderOf).
func (s *Service) addStreams(collection string) {
	op := operation(s, right{write, true}, "POST", collection+"/batch", "batch", "Process many documents. Each line of the body is an Order, and the answer has an Outcome line for it. When the answer arrives, all changes are on disk")
	op.MaxBodyBytes *= batchBodies
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{ndjson: {Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, reflect.TypeFor[client.Order]())}}}
	op.Responses = map[string]*huma.Response{"200": {Description: "an Outcome for each line", Content: map[string]*huma.MediaType{ndjson: {Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, reflect.TypeFor[client.Outcome]())}}}}
	huma.Register(s.api, op, s.batch)

	op = operation(s, right{read, true}, "GET", collection+"/groups", "groups", "List all groups of near-duplicates, one per line, with the ids of the documents; the first one represents the group")
	op.Responses = map[string]*huma.Response{"200": {Description: "groups", Content: map[string]*huma.MediaType{ndjson: {Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, reflect.TypeFor[client.Group]())}}}}
	huma.Register(s.api, op, s.groups)
	s.addBackups(collection)
}

type batchInput struct {
	Named
	RawBody []byte `contentType:"application/x-ndjson"`
}

type lines struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// batch does all lines of a body in order. A line that is wrong, or whose turn comes after the time is
// over, gets an outcome that says so. The answer is 200 all the same, because the client must learn what
// the other lines have done. A batch holds one place for all its lines.
func (s *Service) batch(ctx context.Context, in *batchInput) (*lines, error) {
	body := bytes.TrimRight(in.RawBody, "\n")
	// The lines are counted before they are cut: a body of newlines only would become millions of slices.
	if n := bytes.Count(body, []byte("\n")) + 1; n > mostOrders {
		return nil, huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the batch has %d lines, more than %d; nothing was done", n, mostOrders))
	}
	ctx, cancel := context.WithTimeout(ctx, batchTime*s.options.Timeout)
	defer cancel()
	out := &lines{ContentType: ndjson}
	err := s.limits.during(func() error {
		return s.in(in.Name, func(c *collection) error {
			for text := range bytes.SplitSeq(body, []byte("\n")) {
				c.changing.RLock() // a backup need not wait for all lines
				o := s.do(ctx, c, text)
				c.changing.RUnlock()
				// The line is done anyway; only its list is cut.
				if len(out.Body) > mostListed && len(o.Matches) > 1 {
					o.Matches, o.More = o.Matches[:1], true
				}
				out.Body = append(out.Body, line(o)...)
			}
			return c.commit.commit(context.WithoutCancel(ctx)) // also what was done before the time was over
		})
	})
	if err != nil {
		return nil, s.answer("batch", err)
	}
	return out, nil
}

// do does a line. It calls the engine and not change, because batch commits once for all lines.
func (s *Service) do(ctx context.Context, c *collection, text []byte) (out client.Outcome) {
	if ctx.Err() != nil || s.stopping.Load() {
		return client.Outcome{Error: "not processed: the request timed out, the client disconnected, or the service is shutting down"}
	}
	o, err := orderOf(text)
	out.ID = o.ID
	var found []client.Match
	if err == nil {
		switch o.Op {
		case "put":
			out.Added, err = c.engine.put(ctx, o.ID, *o.Text)
		case "put-if-new":
			found, out.Added, err = c.engine.putIfNew(ctx, o.ID, *o.Text, o.Limit)
		case "search":
			found, err = c.engine.search(ctx, *o.Text, o.Limit)
		case "delete":
			out.Deleted, err = c.engine.delete(ctx, o.ID)
		}
	}
	if err != nil {
		return client.Outcome{ID: o.ID, Error: s.tell("batch", err)}
	}
	f := foundOf(found, o.Limit)
	out.Matches, out.More = f.Matches, f.More
	if o.Op != "delete" {
		s.decided(c, o.Op, client.Decision{ID: o.ID, Added: out.Added, Found: f})
	}
	return out
}

// refuse answers with an error. It is for streams, whose bodies run after huma has taken the handler for
// done. Nothing may have been written before.
func (s *Service) refuse(out huma.Context, operation string, err error) {
	err = s.answer(operation, err)
	var headers huma.HeadersError
	if errors.As(err, &headers) {
		for name, values := range headers.GetHeaders() {
			out.SetHeader(name, values[0])
		}
	}
	var status huma.StatusError
	errors.As(err, &status)
	huma.WriteErr(s.api, out, status.GetStatus(), s.tell(operation, err))
}

// tell returns the text of an error as it is answered. Like answer, it logs what went wrong inside, once:
// an error that went through answer is not logged again.
func (s *Service) tell(operation string, err error) string {
	var model *huma.ErrorModel
	if errors.As(s.answer(operation, err), &model) {
		return model.Detail
	}
	return "failed"
}

// orderOf reads a line of a batch. huma does not see lines, so this checks what the schema says. After an
// error of the settings, o has the id, so that the outcome can name the line.
func orderOf(text []byte) (o client.Order, err error) {
	if !utf8.Valid(text) {
		return o, badRequest{errors.New("the line is not UTF-8")}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	// A misspelt limit must not be taken for the default. huma does the same with other bodies.
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, badRequest{fmt.Errorf("the line is not an order: %w", err)}
	}
	if _, err := d.Token(); err != io.EOF {
		return o, badRequest{errors.New("the line has more than one value")}
	}
	switch {
	case o.Op != "put" && o.Op != "put-if-new" && o.Op != "search" && o.Op != "delete":
		return o, badRequest{fmt.Errorf("op must be put, put-if-new, search or delete, not %q", o.Op)}
	case o.Text == nil && o.Op != "delete":
		return o, badRequest{errors.New("the text is missing")}
	case o.Limit < 0 || o.Limit > mostMatches:
		return o, badRequest{fmt.Errorf("limit must be 1 to %d", mostMatches)}
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	if o.Op == "search" {
		return o, nil
	}
	return o, checkID(o.ID)
}

// groups streams all groups. An error before the first line is an answer as usual. After it, the connection
// is broken off.
func (s *Service) groups(ctx context.Context, in *Named) (*huma.StreamResponse, error) {
	c, err := s.collections.get(in.Name)
	if err != nil {
		return nil, s.answer("groups", err)
	}
	if c.settings.Store != "" {
		return nil, s.answer("groups", errUnable)
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		began := false
		w := s.stream(out)
		// A removal of the collection waits until the client has read all groups.
		err := c.use(func() error { // without a place, which somebody who reads slowly would keep
			if !c.reading.TryLock() { // each takes memory
				return errBusy
			}
			defer c.reading.Unlock()
			for ids, err := range c.engine.groups(ctx) {
				if err == nil {
					err = c.seen(ctx, ids...)
				}
				if err != nil {
					return err
				}
				if !began {
					out.SetHeader("Content-Type", ndjson)
					began = true
				}
				if _, err := w.Write(line(client.Group{IDs: ids})); err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case err != nil && !began:
			s.refuse(out, "groups", err)
		case err != nil:
			s.log.Warn("groups were cut off", "collection", c.name, "error", err)
			panic(http.ErrAbortHandler) // so the client sees that there are more
		// A collection without groups has an empty answer.
		case !began:
			out.SetHeader("Content-Type", ndjson)
			out.SetStatus(http.StatusOK)
		}
	}}, nil
}

// A stream is a long answer. Its deadline moves as long as the client reads. So a client may take as long
// as it needs for all of it, but not stop reading.
type stream struct {
	out     huma.Context
	timeout time.Duration
	since   int
}

func (s *Service) stream(out huma.Context) *stream {
	return &stream{out: out, timeout: 2 * s.options.Timeout}
}

// more sets the deadline. An error is ignored: where deadlines cannot be set, such as in a recorder of a
// test, the answer goes out without one.
func (w *stream) more(d time.Duration) {
	if t, ok := w.out.BodyWriter().(http.ResponseWriter); ok {
		http.NewResponseController(t).SetWriteDeadline(time.Now().Add(d))
	}
}

// Write does not set the deadline for each call, since a line of groups may have a few bytes only.
func (w *stream) Write(b []byte) (int, error) {
	if w.since += len(b); w.since > streamPart {
		w.since = 0
		w.more(w.timeout)
	}
	return w.out.BodyWriter().Write(b)
}
