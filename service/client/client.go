// Package client talks to the service neardupd.
//
//	c := client.Client{URL: "http://127.0.0.1:8080", Token: token}
//	d, err := c.PutIfNew(ctx, "pages", client.Document{ID: url, Text: text}, 10)
//	if err == nil && !d.Added {
//		log.Printf("%s is like %s", url, d.Matches[0].ID)
//	}
//
// A Client repeats no call by itself. A call that got no answer, or the Status 429 or 503, can be repeated,
// after [Error.RetryAfter] if that is set. A second call leaves what one would have left, but may report
// something else: Delete and Remove find nothing, and PutIfNew adds nothing. types.go has what goes over
// the wire, which the service uses too.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

// A Client calls a service. It may be used by several goroutines.
type Client struct {
	URL   string       // such as http://127.0.0.1:8080
	Token string       // if the service has tokens
	HTTP  *http.Client // nil means [http.DefaultClient]
}

// An Error is an answer that reports a failure. Errors of the connection and of the context are those of
// package net/http. 503 does not say whether a change has taken effect.
type Error struct {
	Status     int           // of HTTP
	Detail     string        // what the service says
	RetryAfter time.Duration // after which time to try again, for 429 and 503
}

func (e *Error) Error() string { return fmt.Sprintf("neardupd: %d: %s", e.Status, e.Detail) }

// Create makes a collection. If it exists already with the same settings, Create does nothing. With other
// settings the Error has the Status 409.
func (c *Client) Create(ctx context.Context, collection string, settings Settings) error {
	return c.call(ctx, http.MethodPut, c.path(collection, ""), settings, nil)
}

// Remove removes a collection with its files. What is in a store stays there.
func (c *Client) Remove(ctx context.Context, collection string) error {
	return c.call(ctx, http.MethodDelete, c.path(collection, ""), nil, nil)
}

// valid returns an error for what JSON cannot have: package json would replace it, without a word. So two
// different ids could become one.
func valid(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return errors.New("neardupd: the id or the text is not UTF-8")
		}
	}
	return nil
}

// Put stores a text, in place of the one with its id.
func (c *Client) Put(ctx context.Context, collection string, d Document) error {
	if err := valid(d.ID, d.Text); err != nil {
		return err
	}
	return c.call(ctx, http.MethodPut, c.path(collection, "/documents"), d, nil)
}

// PutIfNew stores a text unless it has a near-duplicate. It returns up to limit of these. A call that was not answered may be repeated: then
// a text that was stored is not stored again, and is not reported as a near-duplicate of itself.
func (c *Client) PutIfNew(ctx context.Context, collection string, d Document, limit int) (out Decision, err error) {
	if err := valid(d.ID, d.Text); err != nil {
		return out, err
	}
	return out, c.call(ctx, http.MethodPost, c.path(collection, "/put-if-new")+"?limit="+strconv.Itoa(limit), d, &out)
}

// Search returns up to limit near-duplicates of a text.
func (c *Client) Search(ctx context.Context, collection, text string, limit int) (out Found, err error) {
	if err := valid(text); err != nil {
		return out, err
	}
	return out, c.call(ctx, http.MethodPost, c.path(collection, "/search")+"?limit="+strconv.Itoa(limit), map[string]string{"text": text}, &out)
}

// Get returns what is stored under an id, and whether it is there.
func (c *Client) Get(ctx context.Context, collection, id string) (out Stored, ok bool, err error) {
	err = c.call(ctx, http.MethodGet, c.path(collection, "/documents")+"?id="+url.QueryEscape(id), nil, &out)
	return out, err == nil, ignoreMissing(err)
}

// Delete deletes a document, and returns whether it was there.
func (c *Client) Delete(ctx context.Context, collection, id string) (was bool, err error) {
	err = c.call(ctx, http.MethodDelete, c.path(collection, "/documents")+"?id="+url.QueryEscape(id), nil, nil)
	return err == nil, ignoreMissing(err)
}

// Batch sends many orders in one request, and returns an outcome for each. Its outcomes are in the order of
// the orders, and each has its own Error: err is nil if the service has answered for all. With too many
// orders or bytes, nothing is done. If the connection breaks, Batch returns the outcomes that it has got
// with the error; the other orders may have been done.
func (c *Client) Batch(ctx context.Context, collection string, orders []Order) (out []Outcome, err error) {
	if len(orders) == 0 {
		return nil, nil
	}
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	for _, o := range orders {
		text := ""
		if o.Text != nil {
			text = *o.Text
		}
		if err := cmp.Or(valid(o.ID, text), e.Encode(o)); err != nil {
			return nil, err
		}
	}
	answer, err := c.do(ctx, http.MethodPost, c.path(collection, "/batch"), "application/x-ndjson", &lines)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	for d := json.NewDecoder(answer); ; {
		var o Outcome
		if err := d.Decode(&o); err == io.EOF && len(out) == len(orders) {
			return out, nil
		} else if err != nil {
			return out, fmt.Errorf("neardupd: the answer has %d of %d lines: %w", len(out), len(orders), err)
		}
		out = append(out, o)
	}
}

// ignoreMissing returns nil for a document that is not there. A missing collection has the same status, and
// must stay an error, so the text decides.
func ignoreMissing(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound && e.Detail == NoDocument {
		return nil
	}
	return err
}

// path returns the path of a collection.
func (c *Client) path(collection, rest string) string {
	return "/v1/collections/" + url.PathEscape(collection) + rest
}

// call sends a value as JSON, and reads the answer into another one, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	answer, err := c.do(ctx, method, path, "application/json", body)
	if err != nil {
		return err
	}
	defer answer.Close()
	if out != nil {
		if err := json.NewDecoder(answer).Decode(out); err != nil {
			return fmt.Errorf("neardupd: %w", err)
		}
	}
	io.Copy(io.Discard, answer) // so the connection can be used again
	return nil
}

// do sends a request, and returns the body of the answer if it is a success. The caller closes it. An
// answer that is no success becomes an Error, also one of a proxy that is not JSON: then Detail is the
// status line.
func (c *Client) do(ctx context.Context, method, path, contentType string, body io.Reader) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	answer, err := h.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < 300 {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	e := &Error{Status: answer.StatusCode, Detail: answer.Status}
	if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	var problem struct{ Detail string }
	// What answers may be no neardupd, so not everything that it sends is read into memory.
	if text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20)); err == nil && json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		e.Detail = problem.Detail
	}
	return nil, e
}
