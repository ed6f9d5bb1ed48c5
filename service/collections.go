package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/service/client"
)

// This file keeps collections by name. The directory of a service has a directory for each:
//
//	NAME/settings.json   its settings, as they were when it was made
//	NAME/documents…      the files of its engine
//	NAME.new             one that is being made; it is removed when the service starts
//	NAME.old             one that is being removed; the same
//	service.lock         for one service at a time
//
// A collection is made in NAME.new, opened there for a trial, and then renamed. One that is removed is
// renamed first. So after a crash at any time, a name has all of its files or none.
//
// A request goes through these locks, always in this order: collection.using for as long as it works with
// the collection, changing while it changes something, and adding (see looking) or the locks of the index
// inside. It waits for the disk without changing, so that others can make changes for the same commit.

// format is the version of the files of a collection. A collection with another one is not opened.
const format = 1

// checkSettings sets what is not given, and returns an error for settings that the method does not have. It
// also checks ranges that the OpenAPI description has, because the settings of a restored backup do not
// come through it. Settings with all defaults filled in can be compared by ==, as create does.
func checkSettings(s *client.Settings) error {
	s.Format = format
	s.Method = cmp.Or(s.Method, "auto")
	switch {
	case s.Method != "simhash" && s.Distance != 0:
		return fmt.Errorf("distance can only be set for the method simhash, not for %s", s.Method)
	case s.Method == "auto" && s.Store != "":
		return errors.New("a store can only be used with the methods simhash and minhash, not with auto")
	case s.Method != "minhash" && s.Similarity != 0:
		return fmt.Errorf("similarity can only be set for the method minhash, not for %s", s.Method)
	case s.Distance < 0 || s.Distance > mostDistance || s.Similarity < 0 || s.Similarity > 1:
		return errors.New("the distance or the similarity is out of range")
	}
	switch s.Method {
	case "simhash":
		s.Distance = cmp.Or(s.Distance, 3)
	case "minhash":
		s.Similarity = cmp.Or(s.Similarity, 0.8)
	case "auto":
	default:
		return fmt.Errorf("unknown method %q", s.Method)
	}
	if s.Expire.Duration < 0 {
		return errors.New("expire must not be negative")
	}
	return nil
}

// mostDistance is the largest distance of fingerprints. An index for more would have very many tables.
const mostDistance = 16

// A collection is one of them.
type collection struct {
	name     string
	settings client.Settings
	dir      string
	engine   engine
	commit   *committer

	// Who holds using for reading may rely on engine and commit: they change only in heal and close, which
	// hold it for writing.
	using    sync.RWMutex // held for reading during a request
	closed   bool         // protected by using
	full     atomic.Bool  // the disk was full, and the files are closed
	changing sync.RWMutex // held for reading during a change; freeze holds it for writing, so that it sees no half of one
	syncing  sync.Mutex   // held while the files are written, or opened for a backup; taken after changing
	reading  sync.Mutex   // of those who read all of it: groups and backups
	expired  time.Time    // when what was too old was last deleted; only expireOld uses it
}

// use calls f while the collection is open. Requests that were using it when a removal began may finish;
// later ones get errNoCollection. f must not call use.
func (c *collection) use(f func() error) error {
	c.using.RLock()
	defer c.using.RUnlock()
	if c.closed {
		return errNoCollection
	}
	return f()
}

// change calls f, and returns when everything is on the disk that f may have changed or seen: an answer
// such as "it is there already" must not be about what a failing machine would forget. So it commits after
// an error of f too, since f may have seen or changed something before it. If the context ends while it
// waits, the change stays.
func (c *collection) change(ctx context.Context, f func() error) error {
	return c.changeUnless(ctx, func() (isOnDisk bool, err error) { return false, f() })
}

// changeUnless is change for an f that may find out that it has changed nothing and seen only what is on the disk.
func (c *collection) changeUnless(ctx context.Context, f func() (isOnDisk bool, err error)) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.changing.RLock()
	// The lock does not cover the commit: the next changes need not wait for the disk.
	isOnDisk, err := f()
	c.changing.RUnlock()
	if isOnDisk && err == nil {
		return nil
	}
	return errors.Join(err, c.commit.commit(ctx))
}

// seen waits until these documents are on the disk: an answer that only reads must not report what a failing
// machine would forget either. It waits for nothing if they are there already, as nearly all are.
func (c *collection) seen(ctx context.Context, ids ...string) error {
	if c.areOnDisk(ids...) {
		return nil
	}
	return c.commit.commit(ctx)
}

// areOnDisk reports whether all of these documents are on the disk.
func (c *collection) areOnDisk(ids ...string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !c.engine.isOnDisk(id) })
}

// idsOf returns the ids of matches.
func idsOf(found []client.Match) []string {
	ids := make([]string, len(found))
	for i, m := range found {
		ids[i] = m.ID
	}
	return ids
}

// putIfNew is that of the engine. What it says of documents that are on the disk need not wait for others
// to get there. With neither added nor found, the answer is about the document that has the id.
func (c *collection) putIfNew(ctx context.Context, id, text string, limit int) (found []client.Match, added bool, err error) {
	err = c.changeUnless(ctx, func() (isOnDisk bool, err error) {
		found, added, err = c.engine.putIfNew(ctx, id, text, limit)
		about := idsOf(found)
		if len(about) == 0 {
			about = []string{id}
		}
		return !added && c.areOnDisk(about...), err
	})
	return found, added, err
}

// expire deletes what was added before a time. It calls use by itself, because expireOld has no request
// around it.
func (c *collection) expire(ctx context.Context, before time.Time) (n int, err error) {
	err = c.use(func() error {
		return c.change(ctx, func() error {
			n, err = c.engine.expire(ctx, before)
			return err
		})
	})
	return n, err
}

// Collections are all of a service.
type collections struct {
	options *Options
	log     *slog.Logger

	// mu protects the two maps only. Whoever makes or removes a collection reserves its name instead of
	// holding mu, since that takes as long as the disk, or as a client that sends an archive.
	lock     *flock.Flock // of the directory
	mu       sync.RWMutex
	byName   map[string]*collection
	reserved map[string]bool // of which somebody makes or removes the files
}

var (
	errNoCollection = errors.New("there is no such collection")
	errExists       = errors.New("the collection already exists, with different settings")
)

// names are those of collections. No other file in the directory looks like one. Directories, and tables
// and keys of stores, get these names, so no character may have a meaning there.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,31}$`)

// openCollections opens all collections of the directory. The lock of the directory comes first, because
// what a crash has left half made or half removed is deleted: it must not be the work of a service that is
// still running.
func openCollections(ctx context.Context, o *Options, log *slog.Logger) (*collections, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(o.Dir, "service.lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, cmp.Or(err, fmt.Errorf("%s: another service has it open", o.Dir))
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s := &collections{options: o, log: log, lock: lock, byName: map[string]*collection{}, reserved: map[string]bool{}}
	for _, e := range entries {
		name := e.Name()
		switch before, after, _ := strings.Cut(name, "."); {
		case !e.IsDir() || !names.MatchString(before):
		case after == "new" || after == "old":
			err = os.RemoveAll(filepath.Join(o.Dir, name))
		case after == "":
			var c *collection
			if c, err = s.open(ctx, name, filepath.Join(o.Dir, name)); err == nil {
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

// open opens the collection of a directory. Its error is a badRequest for bad settings, so a restored
// archive with such settings gets 400.
func (s *collections) open(ctx context.Context, name, dir string) (*collection, error) {
	c := &collection{name: name, dir: dir}
	text, err := os.ReadFile(filepath.Join(c.dir, "settings.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c.settings); err != nil {
		return nil, fmt.Errorf("settings.json: %w", err)
	}
	// Settings of another format may be ones that this version does not know. They are not checked: the
	// error is about the format.
	if c.settings.Format == format {
		err = checkSettings(&c.settings)
	}
	if err != nil {
		return nil, badRequest{fmt.Errorf("settings.json: %w", err)}
	}
	if c.settings.Format != format {
		return nil, fmt.Errorf("%w: settings.json has format %d, but this version reads format %d", neardup.ErrVersion, c.settings.Format, format)
	}
	if err := s.start(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// start opens the engine of a collection. Commits hold syncing, so that freeze can keep the files as they
// are.
func (s *collections) start(ctx context.Context, c *collection) error {
	e, err := s.engine(ctx, c)
	if err == nil {
		c.engine, c.commit = e, &committer{sync: func() error {
			c.syncing.Lock()
			defer c.syncing.Unlock()
			return e.sync()
		}}
	}
	return err
}

// heal opens a collection again that does not work, with an error, if the disk was full: what was
// acknowledged is on it. After other errors of a disk nobody knows what is. It returns the error of one
// that does not work. It waits for all requests that use the collection. If there is still no room, the
// engine stays closed, c.full says so, and the next call tries again.
func (s *collections) heal(ctx context.Context, c *collection, err error) error {
	if !c.full.Load() && !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	c.using.Lock()
	defer c.using.Unlock()
	if err := c.engine.err(ctx); c.closed || err == nil { // somebody else has healed it
		return nil
	}
	if !c.full.Swap(true) {
		c.engine.close() // whose error is known
	}
	if err := s.start(ctx, c); err != nil {
		return err
	}
	c.full.Store(false)
	s.log.Info("opened again, because the disk has room again", "collection", c.name)
	return nil
}

// engine opens what finds near-duplicates in a collection. An index or a store becomes an engine by a
// looking.
func (s *collections) engine(ctx context.Context, c *collection) (engine, error) {
	path := filepath.Join(c.dir, "documents")
	var f finder
	var err error
	switch set := &c.settings; {
	case set.Method == "auto":
		return openAuto(path, s.options.Memory)
	case set.Store != "" && s.options.Stores[set.Store] == nil:
		err = badRequest{fmt.Errorf("the service was started without a store %q", set.Store)}
	case set.Store != "":
		f, err = openShared(ctx, s.options.Stores[set.Store], c.name, *set)
	case set.Method == "minhash":
		f, err = openSignatures(path, set.Similarity)
	default:
		f, err = openFingerprints(path, set.Distance)
	}
	return &looking{finder: f}, err
}

// get returns a collection. It may be removed at any time after that, so callers go on with use.
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

// reserve keeps everybody else from making or removing a collection with a name, until free is called.
// Others get errBusy at once and do not wait, because a restore holds the name for as long as the archive
// takes to arrive.
func (s *collections) reserve(name string) (free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved[name] {
		return nil, errBusy
	}
	s.reserved[name] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.reserved, name)
	}, nil
}

// create makes a collection. If it is there with the same settings, it does nothing; with others it is
// errExists. So of two calls at the same time with the same settings, one may get errBusy, and succeeds
// when it is repeated.
func (s *collections) create(ctx context.Context, name string, settings client.Settings) (c *collection, isNew bool, err error) {
	if err := checkSettings(&settings); err != nil {
		return nil, false, badRequest{err}
	}
	c, err = s.get(name)
	if err != nil {
		c, err = s.make(ctx, name, func(dir string) error {
			text, err := json.MarshalIndent(settings, "", "\t")
			if err != nil {
				return err
			}
			return copyFile(filepath.Join(dir, "settings.json"), bytes.NewReader(append(text, '\n')))
		})
		if err == nil {
			return c, true, nil
		}
		if err != errExists {
			return nil, false, err
		}
		if c, err = s.get(name); err != nil {
			return nil, false, err
		}
	}
	if c.settings != settings {
		return nil, false, errExists
	}
	return c, false, nil
}

// make makes a collection in a directory that fill fills. It is there as a whole or not at all: before the
// rename, a start removes what was made; after it, the collection can be opened, since that was tried. fill
// must have its files on the disk when it returns.
func (s *collections) make(ctx context.Context, name string, fill func(dir string) error) (c *collection, err error) {
	free, err := s.reserve(name)
	if err != nil {
		return nil, err
	}
	defer free()
	if _, err := s.get(name); err == nil {
		return nil, errExists
	}
	dir := filepath.Join(s.options.Dir, name)
	if err = os.RemoveAll(dir + ".new"); err == nil {
		err = os.Mkdir(dir+".new", 0o700)
	}
	if err == nil {
		err = fill(dir + ".new")
	}
	if err == nil {
		if c, err = s.open(ctx, name, dir+".new"); err == nil { // what cannot be opened must not get a name
			err = c.close()
		}
	}
	if err == nil {
		err = os.Rename(dir+".new", dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir+".new"))
	}
	// Without it, a machine that fails could forget the name of a collection that has answered already.
	if err = syncDir(s.options.Dir); err == nil {
		c, err = s.open(ctx, name, dir)
	}
	if err != nil { // renamed first, so that the next start finds no half of a collection
		return nil, errors.Join(err, os.RemoveAll(dir+".old"), os.Rename(dir, dir+".old"), os.RemoveAll(dir+".old"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[name] = c
	return c, nil
}

// remove removes a collection with its files. What is in a store stays there. The renaming decides: before
// it, an error changes nothing; after it, the collection is gone, and the next start removes the files that
// an error has left. Nobody can find the collection any more when close waits for the requests that still
// use it.
func (s *collections) remove(name string) error {
	free, err := s.reserve(name)
	if err != nil {
		return err
	}
	defer free()
	c, err := s.get(name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(c.dir + ".old"); err != nil {
		return err
	}
	if err := os.Rename(c.dir, c.dir+".old"); err != nil { // then it goes on working
		return err
	}
	s.mu.Lock()
	delete(s.byName, name)
	s.mu.Unlock()
	c.close() // whose error does not matter: it may want to write into a directory that is gone
	return errors.Join(syncDir(s.options.Dir), os.RemoveAll(c.dir+".old"))
}

// close closes a collection when the requests that use it have ended. A second call does nothing.
func (c *collection) close() error {
	c.using.Lock()
	defer c.using.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.engine.close()
}

// close closes all collections. An error of one does not keep the others from being closed. The lock of the
// directory goes last.
func (s *collections) close() (err error) {
	for _, c := range s.all() {
		err = errors.Join(err, c.close())
	}
	return errors.Join(err, s.lock.Unlock())
}

// syncDir waits until the names in a directory are on the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		err = nil // some file systems keep names without being asked
	}
	return errors.Join(err, f.Close())
}
