package compare_test

import (
	"fmt"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/compare"
)

func ExampleCompare() {
	f := neardup.Fingerprinter{Tokenizer: neardup.Words{}}
	fmt.Print(compare.Compare(&f, []string{"the cat sat on the mat", "the cat sat on a mat", "dogs bark"}, 50, 64))
	// Output:
	// I    J  cosine  Jaccard    50 bits    64 bits
	//    0    1  0.8660   0.8333   12 0.760   16 0.750
	//    0    2  0.0000   0.0000   23 0.540   29 0.547
	//    1    2  0.0000   0.0000   17 0.660   23 0.641
}
