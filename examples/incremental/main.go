// Command incremental is a client of the service neardupd. It reads texts, one in a line, and says of each which near-duplicate is there already;
// others it stores.
//
//	go run -C service ./cmd/neardupd --dir /tmp/collections &
//	go run -C examples/incremental . < texts
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/neardup/neardup/service/client"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "`URL` of the service")
	collection := flag.String("collection", "lines", "`NAME` of the collection")
	flag.Parse()
	c := client.Client{URL: *url, Token: os.Getenv("NEARDUPD_TOKEN")}
	if err := run(context.Background(), &c, *collection, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run decides about each line.
func run(ctx context.Context, c *client.Client, collection string, in io.Reader, out io.Writer) error {
	if err := c.Create(ctx, collection, client.Settings{}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		id := fmt.Sprintf("%x", sha256.Sum256(lines.Bytes()))[:12] // so a line that comes again is the same document
		d, err := c.PutIfNew(ctx, collection, client.Document{ID: id, Text: lines.Text()}, 1)
		switch {
		case err != nil:
			return err
		case d.Added:
			fmt.Fprintf(out, "%s is new\n", id)
		case len(d.Matches) == 0:
			fmt.Fprintf(out, "%s is already stored\n", id)
		default:
			fmt.Fprintf(out, "%s is like %s: %s, probability %.2f\n", id, d.Matches[0].ID, d.Matches[0].Kind, d.Matches[0].Probability)
		}
	}
	return lines.Err()
}
