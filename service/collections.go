package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/service/client"
)

// This file keeps collections by name. The directory of a service has a directory for each:
//
//	NAME/settings.json   its settings, as they were when it was made
//	NAME/documents…      the files of its engine
//	NAME.new             one that is being made; it is removed when the service starts
//	NAME.old             one that is being removed; the same

// format is the version of the files of a collection.
const format = 1

// checkSettings sets what is not given, and returns an error for settings that contradict each other.
func checkSettings(s *client.Settings) error {
	s.Format = format
	if s.Method == "" {
		s.Method = "auto"
	}
	switch {
	case s.Method != "simhash" && s.Store != "":
		return fmt.Errorf("a store has fingerprints of the method simhash, and not %s", s.Method)
	case s.Expire.Duration < 0:
		return errors.New("documents cannot expire before they come")
	case s.Expire.Duration > 0 && s.Store != "":
		return errors.New("documents in a store do not expire")
	}
	return nil
}

// A collection is one of them.
type collection struct {
	name     string
	settings client.Settings
	dir      string
	engine   engine
	commit   committer

	using    sync.RWMutex // held for reading during a request
	closed   bool
	changing sync.RWMutex // held for reading during a change
}

// use calls f while the collection is open.
func (c *collection) use(f func() error) error {
	c.using.RLock()
	defer c.using.RUnlock()
	if c.closed {
		return errNoCollection
	}
	return f()
}

// change calls f, which changes something, and says whether it did. If it did, change returns when that is on the disk.
func (c *collection) change(f func() (changed bool, err error)) error {
	c.changing.RLock()
	changed, err := f()
	c.changing.RUnlock()
	if changed {
		err = errors.Join(err, c.commit.commit())
	}
	return err
}

// expire deletes what was added before a time.
func (c *collection) expire(ctx context.Context, before time.Time) (n int, err error) {
	err = c.use(func() error {
		return c.change(func() (bool, error) {
			n, err = c.engine.expire(ctx, before)
			return n > 0, err
		})
	})
	return n, err
}

// Collections are all of a service.
type collections struct {
	options *Options
	log     *slog.Logger

	changing sync.Mutex // of those that make or remove one
	mu       sync.RWMutex
	byName   map[string]*collection
}

var (
	errNoCollection = errors.New("there is no such collection")
	errExists       = errors.New("there is such a collection, with other settings")
)

// names are those of collections. No other file in the directory looks like one.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,31}$`)

// openCollections opens all collections of the directory.
func openCollections(ctx context.Context, o *Options, log *slog.Logger) (*collections, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &collections{options: o, log: log, byName: map[string]*collection{}}
	for _, e := range entries {
		name := e.Name()
		switch before, after, _ := strings.Cut(name, "."); {
		case !e.IsDir() || !names.MatchString(before):
		case after == "new" || after == "old":
			err = os.RemoveAll(filepath.Join(o.Dir, name))
		case after == "":
			var c *collection
			if c, err = s.open(ctx, name); err == nil {
				s.byName[name] = c
				log.Info("opened", "collection", name, "method", c.settings.Method)
			} else {
				err = fmt.Errorf("collection %s: %w", name, err)
			}
		}
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// open opens the collection of a directory.
func (s *collections) open(ctx context.Context, name string) (*collection, error) {
	c := &collection{name: name, dir: filepath.Join(s.options.Dir, name)}
	text, err := os.ReadFile(filepath.Join(c.dir, "settings.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c.settings); err != nil {
		return nil, fmt.Errorf("settings.json: %w", err)
	}
	if c.settings.Format != format {
		return nil, fmt.Errorf("%w: settings.json has the format %d, and this is format %d", neardup.ErrVersion, c.settings.Format, format)
	}
	c.engine, err = s.engine(ctx, c)
	if err != nil {
		return nil, err
	}
	c.commit.sync = c.engine.sync
	return c, nil
}

// engine opens what finds near-duplicates in a collection.
func (s *collections) engine(ctx context.Context, c *collection) (engine, error) {
	path := filepath.Join(c.dir, "documents")
	switch set := &c.settings; {
	case set.Method == "auto":
		return openAuto(path, s.options.Memory)
	case set.Method == "minhash":
		return openSignatures(path, set.Similarity)
	case set.Store == "":
		return openFingerprints(path, set.Distance)
	case s.options.Stores[set.Store] == nil:
		return nil, fmt.Errorf("the service was started without a store %q", set.Store)
	default:
		f := neardup.Fingerprinter{}
		version, err := f.Version()
		if err != nil {
			return nil, err
		}
		store, err := s.options.Stores[set.Store](ctx, c.name, set.Distance, version)
		if err != nil {
			return nil, err
		}
		return &shared{store: store, fingerprinter: f}, nil
	}
}

// get returns a collection.
func (s *collections) get(name string) (*collection, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.byName[name]; c != nil {
		return c, nil
	}
	return nil, errNoCollection
}

// all returns all collections by their names.
func (s *collections) all() (all []*collection) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		all = append(all, s.byName[name])
	}
	return all
}

// create makes a collection. If it is there with the same settings, it does nothing.
func (s *collections) create(ctx context.Context, name string, settings client.Settings) (*collection, bool, error) {
	if err := checkSettings(&settings); err != nil {
		return nil, false, badRequest{err}
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if c, err := s.get(name); err == nil {
		if c.settings != settings {
			return nil, false, errExists
		}
		return c, false, nil
	}
	c, err := s.make(ctx, name, func(dir string) error {
		text, err := json.MarshalIndent(settings, "", "\t")
		if err != nil {
			return err
		}
		return copyFile(filepath.Join(dir, "settings.json"), bytes.NewReader(append(text, '\n')))
	})
	return c, err == nil, err
}

// make makes a collection in a directory that fill fills. It is there as a whole or not at all. The caller holds the lock.
func (s *collections) make(ctx context.Context, name string, fill func(dir string) error) (*collection, error) {
	dir := filepath.Join(s.options.Dir, name)
	err := os.RemoveAll(dir + ".new")
	if err == nil {
		err = os.Mkdir(dir+".new", 0o700)
	}
	if err == nil {
		err = fill(dir + ".new")
	}
	if err == nil {
		err = os.Rename(dir+".new", dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir+".new"))
	}
	c, err := s.open(ctx, name)
	if err == nil {
		err = syncDir(s.options.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[name] = c
	return c, nil
}

// remove removes a collection with all its documents. Those in a store stay there.
func (s *collections) remove(name string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	c, err := s.get(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.byName, name)
	s.mu.Unlock()
	err = c.close()
	if e := os.Rename(c.dir, c.dir+".old"); e != nil && !errors.Is(e, fs.ErrNotExist) {
		return errors.Join(err, e)
	}
	return errors.Join(err, syncDir(s.options.Dir), os.RemoveAll(c.dir+".old"))
}

// close closes a collection when the requests that use it have ended.
func (c *collection) close() error {
	c.using.Lock()
	defer c.using.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.engine.close()
}

// close closes all collections.
func (s *collections) close() (err error) {
	for _, c := range s.all() {
		err = errors.Join(err, c.close())
	}
	return err
}

// syncDir waits until the names in a directory are on the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
