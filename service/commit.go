package service

import (
	"context"
	"sync"
)

// A committer lets many requests share a write to the disk: whoever comes while one is under way waits for the next one, together with
// all others that come meanwhile.
type committer struct {
	sync func() error

	mu   sync.Mutex
	next *commit // which has not begun; nil if nobody waits
	busy bool    // a goroutine is writing
}

// A commit is one write to the disk.
type commit struct {
	done chan struct{}
	err  error
}

// commit returns when all that was done before the call is on the disk, or when the context ends.
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

// run writes as long as somebody waits.
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
