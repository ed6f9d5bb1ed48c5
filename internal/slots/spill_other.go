//go:build !unix

package slots

import (
	"errors"
	"os"
)

// canMap says whether files can be mapped.
const canMap = false

func mapExtent(*os.File, int64, int) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapExtent([]byte)                             {}
func release([]byte)                                 {}
