package service

import (
	"context"
	"sync"
)

// This file has the commits of a collection. A write to the disk takes as long for many changes as for one,
// so requests that come at the same time share it.

// A committer lets many requests share a write to the disk: whoever comes while one is under way waits for
// the next one, together with all others that come meanwhile. Whoever comes during a write cannot join that
// one, because it may have begun without their changes. So a request waits for two writes at most.
type committer struct {
	sync func() error // is called by one goroutine at a time

	mu   sync.Mutex
	next *commit // which has not begun; nil if nobody waits
	busy bool    // a goroutine is writing
}

// A commit is one write to the disk. err is set before done is closed, and not changed afterwards.
type commit struct {
	done chan struct{}
	err  error
}

// commit returns when all that was done before the call is on the disk, or when the context ends. If the
// context ends, only the waiting ends: the write goes on, for the others and for what the caller has
// changed. An error of the write is the error of all who waited for it, since nobody knows whose change is
// missing.
func (c *committer) commit(ctx context.Context) error {
	c.mu.Lock()
	if c.next == nil {
		c.next = &commit{done: make(chan struct{})}
	}
	mine := c.next
	if !c.busy {
		c.busy = true
		go c.run()
	}
	c.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run writes as long as somebody waits. It ends when nobody does, so an idle collection has no goroutine.
// sync is called without the lock, so that others can queue up meanwhile.
func (c *committer) run() {
	for {
		c.mu.Lock()
		now := c.next
		c.next, c.busy = nil, now != nil
		c.mu.Unlock()
		if now == nil {
			return
		}
		now.err = c.sync()
		close(now.done)
	}
}
