package service

import (
	"context"
	"io/fs"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/neardup/neardup/service/client"
)

// This file counts for Prometheus, and remembers the last decisions for the page.
//
// No label has a value that a client can choose freely: operations are patterns of the router, and
// collections are those that an admin has made. Decisions are in memory only, and start from nothing with
// the service.

// Metrics are those of a service. It has a registry of its own, so that two services in a process do not
// share numbers, and what else the process registers does not appear.
type metrics struct {
	service   *Service
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec   // by pattern and status
	seconds   *prometheus.HistogramVec // by pattern
	decisions *prometheus.CounterVec   // by collection, operation, and whether there was a near-duplicate

	// These are not kept up to date, but asked for when somebody reads the metrics.
	documents, bytes, working, bodies *prometheus.Desc
}

func newMetrics(s *Service) *metrics {
	m := &metrics{
		service:   s,
		registry:  prometheus.NewRegistry(),
		requests:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "neardup_requests_total", Help: "Answered requests."}, []string{"operation", "status"}),
		seconds:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "neardup_request_seconds", Help: "Time of requests, including reading the body.", Buckets: prometheus.ExponentialBuckets(0.00025, 2, 17)}, []string{"operation"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "neardup_decisions_total", Help: "Texts, by whether a near-duplicate was found."}, []string{"collection", "operation", "known"}),
		documents: prometheus.NewDesc("neardup_documents", "Stored documents.", []string{"collection"}, nil),
		bytes:     prometheus.NewDesc("neardup_file_bytes", "Size of the files.", []string{"collection"}, nil),
		working:   prometheus.NewDesc("neardup_requests_under_way", "Requests in progress.", nil, nil),
		bodies:    prometheus.NewDesc("neardup_body_bytes", "Bytes of request bodies in memory.", nil, nil),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.decisions, m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.documents, m.bytes, m.working, m.bodies} {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. It looks at the files of every collection, so a scrape costs
// more with many. The number of documents is left out where the engine fails or does not know it; /readyz
// tells of failures.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(m.working, float64(len(m.service.limits.places)))
	gauge(m.bodies, float64(m.service.limits.bodies.Load()))
	for _, c := range m.service.collections.all() {
		c.use(func() error {
			if n, err := c.engine.len(context.Background()); err == nil && n >= 0 {
				gauge(m.documents, float64(n), c.name)
			}
			gauge(m.bytes, float64(c.size()), c.name)
			return nil
		})
	}
}

// answered counts a request.
func (m *metrics) answered(pattern string, status int, d time.Duration) {
	if pattern == "" {
		pattern = "other" // so clients cannot make new series
	}
	m.requests.WithLabelValues(pattern, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(pattern).Observe(d.Seconds())
}

// size returns how many bytes the files of a collection have. Errors are passed over: a compaction may
// remove a file while this looks, and the size is for people only.
func (c *collection) size() (n int64) {
	filepath.WalkDir(c.dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if i, err := e.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}

// recent has the last decisions. It is a ring: decision number k is in last[k % 100], and a new one
// replaces the oldest.
type recent struct {
	sync.Mutex
	last [100]client.Decided
	n    int // of all
}

// decided takes note of a decision. The collection is in use, so remove still waits for it, and forget
// comes later.
func (s *Service) decided(c *collection, op string, d client.Decision) {
	known := len(d.Matches) > 0
	s.metrics.decisions.WithLabelValues(c.name, op, strconv.FormatBool(known)).Inc()
	entry := client.Decided{At: time.Now(), Collection: c.name, Op: op, ID: d.ID, Added: d.Added}
	if known {
		best := d.Matches[0] // without the others, which need not stay
		entry.Match = &best
	}
	r := s.recent
	r.Lock()
	defer r.Unlock()
	r.last[r.n%len(r.last)] = entry
	r.n++
}

// decisions returns the last decisions about collections that a request may read, the last one first.
func (s *Service) decisions(ctx context.Context, _ *struct{}) (*body[[]client.Decided], error) {
	out := &body[[]client.Decided]{Body: []client.Decided{}}
	r := s.recent
	r.Lock()
	defer r.Unlock()
	for k := r.n - 1; k >= max(0, r.n-len(r.last)); k-- {
		if d := r.last[k%len(r.last)]; d.Collection != "" && mayRead(ctx, d.Collection) {
			out.Body = append(out.Body, d)
		}
	}
	return out, nil
}

// forget forgets the decisions about a collection that was removed. A new collection with the name must not
// show decisions that others made. A forgotten entry stays in the ring without a collection.
func (s *Service) forget(collection string) {
	s.metrics.decisions.DeletePartialMatch(prometheus.Labels{"collection": collection})
	s.recent.Lock()
	defer s.recent.Unlock()
	for i := range s.recent.last {
		if s.recent.last[i].Collection == collection {
			s.recent.last[i] = client.Decided{}
		}
	}
}
