package neardup

import (
	"time"
)

// What the indexes have in common. Each of them embeds a persistent, so that its methods are theirs.
type persistent struct {
	files interface {
		Len() int
		DeleteBefore(t time.Time) int
		Compact() error
		Sync() error
		Close() error
		Err() error
		Verify() error
	}
}

// Len returns the number of stored documents.
func (p *persistent) Len() int { return p.files.Len() }

// DeleteBefore removes everything that was added before a time, in whole seconds, by the
// clock of this machine, and returns how much that was. Whatever the clock did, nothing
// counts as added before what is older. It takes time for what it removes.
func (p *persistent) DeleteBefore(t time.Time) int { return p.files.DeleteBefore(t) }

// Compact builds the index again as one part, without what was deleted: the form that
// is searched fastest and takes least memory. If the index was opened that is a new
// snapshot, and all changes are on the disk then. If it fails the index is as it was.
func (p *persistent) Compact() error { return p.files.Compact() }

// Sync puts all changes that have returned on the disk, of an index that was opened. When
// there are more than 65,536 in the journal, and more than half of what is stored, it is
// Compact, and takes as long.
func (p *persistent) Sync() error { return p.files.Sync() }

// Close is Sync, and gives the files free. Afterwards the index is empty, and whatever is
// done with it is an error ([os.ErrClosed]). It does nothing with an index in memory.
func (p *persistent) Close() error { return p.files.Close() }

// Err returns the first error of an index that was opened, or nil: damage that a search
// or a change came upon, or a file that could not be written. A search that meets damage
// ends, so whoever must not miss anything asks Err after it. From then on nothing is
// changed any more; what was changed before is still written by Sync and Close.
func (p *persistent) Err() error { return p.files.Err() }

// Verify checks the whole snapshot of an index that was opened. Without it, what is never
// asked for is never checked.
func (p *persistent) Verify() error { return p.files.Verify() }
