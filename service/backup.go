package service

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// This file copies the files of a collection into a tar archive while it works, and makes a collection of such an archive. The archive has what
// was stored when it began.
//
// Snapshots and indexes are never changed: new ones take their names. Texts are only added to. So an open file, up to its length at one
// moment, stays what it was. A journal is emptied now and then; it is short, and copied while changes wait.
//
// The archive goes to the client as it is read, and a restore goes to the disk as it arrives. So neither
// has a limit of size, and neither is in memory as a whole, apart from the journal.

const archive = "application/x-tar"

// backedUp are the files of a collection that belong into an archive: not its lock, and no temporary ones.
// A restore takes these names and no others, so no name in an archive can lead out of the directory of the
// collection.
var backedUp = regexp.MustCompile(`^(settings\.json|documents(\.journal|\.index|\.texts-[0-9]+)?)$`)

// addBackups registers backup and restore. Neither goes through add: they run as long as the client reads
// or sends, and must not hold a place meanwhile. Their inputs have no body, so huma neither reads the
// archive nor limits its size.
func (s *Service) addBackups(collection string) {
	op := operation(s, right{admin, true}, "GET", collection+"/backup", "backup", "Download all files of a collection as a tar archive; the collection stays in use")
	op.Responses = map[string]*huma.Response{"200": {Description: "the archive", Content: map[string]*huma.MediaType{archive: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}}
	huma.Register(s.api, op, s.backup)

	op = operation(s, right{admin, true}, "POST", collection+"/restore", "restore", "Restore a collection from a backup; no collection with this name may exist")
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{archive: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
	op.Responses = map[string]*huma.Response{"201": {Description: "the collection has been restored"}}
	huma.Register(s.api, op, s.restore)
}

// A frozen file is one as it was at one moment.
type frozen struct {
	name string
	size int64
	io.Reader
}

// freeze opens the files of a collection as they are now. The caller closes them by close. close is never
// nil, and closes what was opened before an error too. Changes wait only until freeze returns, and not for
// the client that reads the archive.
func (c *collection) freeze() (files []frozen, close func(), err error) {
	var open []*os.File
	close = func() {
		for _, f := range open {
			f.Close()
		}
	}
	c.changing.Lock() // nothing is half done
	defer c.changing.Unlock()
	c.syncing.Lock() // and no file takes the place of another one
	defer c.syncing.Unlock()
	// What clients were told, and what they are waiting for, is in the files after this.
	if err := c.engine.sync(); err != nil {
		return nil, close, err
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, close, err
	}
	for _, e := range entries {
		if !backedUp.MatchString(e.Name()) {
			continue
		}
		f, err := os.Open(filepath.Join(c.dir, e.Name()))
		if err != nil {
			return nil, close, err
		}
		open = append(open, f)
		info, err := f.Stat()
		if err != nil {
			return nil, close, err
		}
		file := frozen{e.Name(), info.Size(), io.NewSectionReader(f, 0, info.Size())}
		// A compaction after this empties the journal, and would change what the archive still has to read.
		if filepath.Ext(e.Name()) == ".journal" {
			text, err := io.ReadAll(file)
			if err != nil {
				return nil, close, err
			}
			file.size, file.Reader = int64(len(text)), bytes.NewReader(text)
		}
		files = append(files, file)
	}
	return files, close, nil
}

// backup streams an archive. Until the first byte, an error is an answer as usual. After it, all that is
// left is to break off the connection, so that nobody takes a part for the whole.
func (s *Service) backup(_ context.Context, in *Named) (*huma.StreamResponse, error) {
	c, err := s.collections.get(in.Name)
	if err == nil && c.settings.Store != "" {
		err = errUnable // a store has its own backup
	}
	if err != nil {
		return nil, s.answer("backup", err)
	}
	// A removal of the collection waits until the client has everything: close needs the lock that use
	// holds.
	return &huma.StreamResponse{Body: func(out huma.Context) {
		began := false
		err := c.use(func() error {
			if !c.reading.TryLock() { // the journal is in memory meanwhile
				return errBusy
			}
			defer c.reading.Unlock()
			files, close, err := c.freeze()
			defer close()
			if err != nil {
				return err
			}
			began = true
			out.SetHeader("Content-Type", archive)
			out.SetHeader("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.tar"`, c.name))
			to := s.stream(out)
			to.more(to.timeout)
			w := tar.NewWriter(to)
			for _, f := range files {
				if err := w.WriteHeader(&tar.Header{Name: f.name, Size: f.size, Mode: 0o600, ModTime: time.Now()}); err != nil {
					return err
				}
				if _, err := io.Copy(w, f); err != nil {
					return err
				}
			}
			return w.Close()
		})
		if err != nil && !began {
			s.refuse(out, "backup", err)
		} else if err != nil {
			s.log.Warn("a backup was cut off", "collection", c.name, "error", err)
			panic(http.ErrAbortHandler) // so the client sees that the archive is not whole
		}
	}}, nil
}

// restore makes a collection of an archive. It holds no place, so an archive that comes slowly keeps nobody
// from working.
func (s *Service) restore(ctx context.Context, in *Named) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(out huma.Context) {
		if err := s.collections.restore(ctx, in.Name, &patient{out, s.stream(out)}); err != nil {
			s.refuse(out, "restore", err)
			return
		}
		s.log.Info("restored", "collection", in.Name)
		out.SetStatus(http.StatusCreated)
	}}, nil
}

// A patient reader waits for each part of a body as long as for a request, and the client may wait as long for the answer. The bytes count
// only while they are in memory.
type patient struct {
	in     huma.Context
	answer *stream
}

func (p *patient) Read(b []byte) (int, error) {
	p.in.SetReadDeadline(time.Now().Add(p.answer.timeout))
	p.answer.more(2 * p.answer.timeout)
	body := p.in.BodyReader()
	n, err := body.Read(b)
	// What was read goes to a file at once. Otherwise an archive larger than all bodies together could not
	// be restored.
	if counted, ok := body.(*countedBody); ok {
		counted.release()
	}
	return n, err
}

// restore makes a collection of what a reader has. It is there as a whole or not at all. What is wrong with
// the archive is the fault of the client (badRequest); what is wrong with the disk is not.
func (s *collections) restore(ctx context.Context, name string, from io.Reader) error {
	_, err := s.make(ctx, name, func(dir string) error {
		r := tar.NewReader(from)
		for {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return badRequest{fmt.Errorf("this is not a complete backup: %w", err)}
			}
			// Only plain files with the names of a backup: no links, no directories, no sparse files.
			if h.Typeflag != tar.TypeReg || !backedUp.MatchString(h.Name) || slices.ContainsFunc(slices.Collect(maps.Keys(h.PAXRecords)), func(name string) bool {
				return strings.HasPrefix(name, "GNU.sparse.") // a few bytes that become a full disk
			}) {
				return badRequest{fmt.Errorf("this is not a backup: it contains %q", h.Name)}
			}
			err = copyFile(filepath.Join(dir, h.Name), r)
			// The archive ends in the middle of a file, or has a name twice.
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, fs.ErrExist) {
				return badRequest{fmt.Errorf("this is not a complete backup: %q: %w", h.Name, err)}
			}
			if err != nil {
				return err
			}
		}
		// make opens the collection after this, which checks everything else.
		if _, err := os.Stat(filepath.Join(dir, "settings.json")); err != nil {
			return badRequest{errors.New("this is not a backup: settings.json is missing")}
		}
		return nil
	})
	return err
}

// copyFile writes a new file, and waits until it is on the disk. make renames the directory after it: the
// name must not be on the disk before what it names. A file that is there already is an error.
func copyFile(path string, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, from); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
