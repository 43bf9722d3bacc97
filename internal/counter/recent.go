package counter

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
)

// MaxRecent is the longest page of recent orders.
const MaxRecent = 1000

// recentAhead is how many markers of a shard are read at least: most pages need no second look.
const recentAhead = 8

// A CountedOrder is one order as its marker tells.
type CountedOrder struct {
	Event      string    `json:"event"` // the marker's name
	ID         string    `json:"orderId"`
	Source     string    `json:"source"`
	Day        string    `json:"day"`
	Shard      int       `json:"shard"`
	AcceptedAt time.Time `json:"acceptedAt"`
	CreatedAt  time.Time `json:"createdAt"` // when it was counted, by the server's clock
	ExpireAt   time.Time `json:"expireAt"`
	MessageID  string    `json:"messageId"`
}

// A Listing is one page of the orders counted, the newest first.
type Listing struct {
	Counter string         `json:"counter"`
	Day     string         `json:"day,omitempty"` // "": of all days
	Orders  []CountedOrder `json:"orders"`
	Next    string         `json:"next"` // the token of the next page; "": this is the last
}

// CheckPage reports, with an ErrBadPage, a token that is not of the listing of that counter and
// day. It needs no call.
func CheckPage(token, counter, day string) error {
	_, err := parsePage(token, counter, day)
	return err
}

// Recent lists the n orders counted last, of one calendar day or of all with day "", from where
// token says. Orders that were counted in the same moment are in the order of their events.
//
// It merges one bounded query for each shard, and asks a shard again only where that one's markers
// are used up. It reads about n markers, and a few for each shard.
func Recent(
	ctx context.Context, client *firestore.Client, name, day, token string, n int,
) (*Listing, error) {
	from, err := parsePage(token, name, day)
	if err != nil {
		return nil, err
	}
	r, err := Read(ctx, client, name)
	if err != nil {
		return nil, err
	}
	l := &Listing{Counter: name, Day: day, Orders: []CountedOrder{}}
	err = client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		l.Orders, l.Next = l.Orders[:0], ""
		return l.merge(tx, newStreams(client, r, day, from, n), n)
	}, firestore.TransactionReadTime(r.ReadTime), firestore.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("listing the orders of %q: %w", name, err)
	}
	return l, nil
}

// merge takes the newest of all streams until it has n or they ran dry.
func (l *Listing) merge(tx *firestore.Transaction, streams []*stream, n int) error {
	var g errgroup.Group
	g.SetLimit(censusQueries)
	for _, s := range streams {
		g.Go(func() error { return s.fill(tx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for {
		s := newestOf(streams)
		if s == nil {
			return nil
		}
		if len(l.Orders) == n { // and there is more
			last := l.Orders[n-1]
			l.Next = page{l.Counter, l.Day, last.CreatedAt, last.Event}.String()
			return nil
		}
		l.Orders = append(l.Orders, s.orders[0])
		s.orders = s.orders[1:]
		if err := s.fill(tx); err != nil {
			return err
		}
	}
}

// newestOf is the stream whose next order is the newest, or nil when all ran dry.
func newestOf(streams []*stream) *stream {
	var best *stream
	for _, s := range streams {
		if len(s.orders) > 0 && (best == nil || s.orders[0].newer(best.orders[0])) {
			best = s
		}
	}
	return best
}

// newer is the order of the listing, which is the one of the index too.
func (o CountedOrder) newer(p CountedOrder) bool {
	if !o.CreatedAt.Equal(p.CreatedAt) {
		return o.CreatedAt.After(p.CreatedAt)
	}
	return o.Event > p.Event
}

// A stream is the markers of one shard, the newest first, some at a time.
type stream struct {
	query  firestore.Query
	batch  int
	orders []CountedOrder // read and not yet taken
	from   page           // the last one read
	dry    bool
}

// newStreams has one for each shard that may have markers: those beyond the definition too.
func newStreams(client *firestore.Client, r *Reading, day string, from page, n int) []*stream {
	m := markersOf{client: client, name: r.Counter}
	shards := r.shardNumbers()
	var streams []*stream
	for _, shard := range shards {
		q := m.shard(shard)
		if day != "" {
			q = m.shardDay(shard, day)
		}
		streams = append(streams, &stream{query: q.OrderBy(firestore.DocumentID, firestore.Desc),
			from: from, batch: min(n+1, 2*n/len(shards)+recentAhead)})
	}
	return streams
}

// fill reads on when all that was read is taken.
func (s *stream) fill(tx *firestore.Transaction) error {
	if len(s.orders) > 0 || s.dry {
		return nil
	}
	q := s.query.Limit(s.batch)
	if s.from.Event != "" {
		q = q.StartAfter(s.from.Created, s.from.Event)
	}
	docs, err := tx.Documents(q).GetAll()
	if err != nil {
		return err
	}
	s.dry = len(docs) < s.batch
	for _, d := range docs {
		o := countedOrder(d)
		s.orders = append(s.orders, o)
		s.from = page{Created: o.CreatedAt, Event: o.Event}
	}
	return nil
}

// countedOrder is lenient as parseMarker is.
func countedOrder(d *firestore.DocumentSnapshot) CountedOrder {
	return CountedOrder{
		Event:      d.Ref.ID,
		ID:         field[string](d, "orderId"),
		Source:     field[string](d, "source"),
		Day:        field[string](d, "day"),
		Shard:      int(field[int64](d, "shard")),
		AcceptedAt: field[time.Time](d, "acceptedAt"),
		CreatedAt:  field[time.Time](d, "createdAt"),
		ExpireAt:   field[time.Time](d, "expireAt"),
		MessageID:  field[string](d, "messageId"),
	}
}
