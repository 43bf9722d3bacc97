package consume

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/atlasmart/ordertally/internal/counter"
)

// maxAhead is how far in the future an order may be accepted: a day, so that a sender whose clock
// or time zone is off by hours is still heard, and one that is off by years is not.
const maxAhead = 24 * time.Hour

// DefaultKinds are the kinds that are counted where WORKER_KINDS does not say otherwise. All of
// them are the same kind to an order's identity.
var DefaultKinds = []string{counter.KindAccepted, "order.accepted", "com.atlasmart.order.accepted"}

// ErrIgnored means that a message is of a kind that is not counted: to be acknowledged.
var ErrIgnored = errors.New("a kind that is not counted")

// An InvalidError means that a message can never be counted as it is. The reason is short and
// holds neither an order id nor any other value of the message.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "invalid message: " + e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidError{Reason: fmt.Sprintf(format, args...)}
}

// A Message is what decides about an order in a Pub/Sub message.
type Message struct {
	Data        []byte
	Attributes  map[string]string
	ID          string
	PublishTime time.Time
}

// A Decoder reads orders out of messages, by the message table of the README.
type Decoder struct{ kinds map[string]bool }

// NewDecoder returns a decoder that counts the given kinds. A message without a kind counts
// always.
func NewDecoder(kinds []string) *Decoder {
	d := &Decoder{kinds: map[string]bool{}}
	for _, k := range kinds {
		d.kinds[k] = true
	}
	return d
}

// Decode returns the order that the message tells of, ErrIgnored for another kind, or an
// *InvalidError. The kind is looked at before the other fields, so that what a neighbour on the
// topic sends is none of our business however it looks.
func (d *Decoder) Decode(m Message, now time.Time) (counter.Order, error) {
	p := open(m)
	kind, named, err := p.kind()
	if err != nil {
		return counter.Order{}, err
	}
	if named && !d.kinds[kind] {
		return counter.Order{}, ErrIgnored
	}
	if p.problem != nil {
		return counter.Order{}, p.problem
	}
	o := counter.Order{MessageID: m.ID, PublishedAt: m.PublishTime}
	if o.ID, err = p.orderID(); err != nil {
		return counter.Order{}, err
	}
	if o.Source, err = p.source(); err != nil {
		return counter.Order{}, err
	}
	if o.AcceptedAt, err = p.acceptedAt(m.PublishTime, now); err != nil {
		return counter.Order{}, err
	}
	return o, nil
}

// kind returns the kind, and whether the message names one at all.
func (p *payload) kind() (kind string, named bool, err error) {
	v, called := p.lookup("kind", "type")
	if v == nil {
		return "", false, nil
	}
	kind, ok := text(v)
	if !ok {
		return "", false, invalid("%s is %s, want a string", called, kindName(v.Kind()))
	}
	return kind, true, nil
}

func (p *payload) orderID() (string, error) {
	v, ok := p.members["orderId"]
	if !ok {
		return "", invalid("orderId is missing")
	}
	if v.Kind() == '0' {
		return integerID(v)
	}
	id, ok := text(v)
	if !ok {
		return "", invalid("orderId is %s, want a string or an integer", kindName(v.Kind()))
	}
	return id, checkID("orderId", id)
}

// integerID keeps an integer as its digits, however many: as a float64 two orders beyond 2⁵³
// could become one.
func integerID(v jsontext.Value) (string, error) {
	digits := string(v)
	if strings.ContainsAny(digits, ".eE") || digits == "-0" {
		return "", invalid("orderId is a number that is not an integer")
	}
	return digits, checkID("orderId", digits)
}

func (p *payload) source() (string, error) {
	v, ok := p.members["source"]
	if !ok || v.Kind() == 'n' {
		return "", nil
	}
	source, ok := text(v)
	if !ok {
		return "", invalid("source is %s, want a string", kindName(v.Kind()))
	}
	if source == "" {
		return "", nil
	}
	return source, checkID("source", source)
}

func checkID(name, id string) error {
	switch {
	case len(id) > counter.MaxIDBytes:
		return invalid("%s is %d bytes long, want at most %d", name, len(id), counter.MaxIDBytes)
	case strings.ContainsRune(id, 0):
		return invalid("%s contains NUL", name)
	case id == "":
		return invalid("%s is empty", name)
	case strings.TrimSpace(id) == "":
		return invalid("%s is only white space", name)
	}
	return nil
}

func (p *payload) acceptedAt(published, now time.Time) (time.Time, error) {
	v, called := p.lookup("acceptedAt", "time")
	if v == nil {
		return published, nil
	}
	s, ok := text(v)
	if !ok {
		return time.Time{}, invalid("%s is %s, want a string", called, kindName(v.Kind()))
	}
	t, err := parseTime(s)
	switch {
	case err != nil:
		return time.Time{}, invalid("%s is not an RFC 3339 time", called)
	case t.Unix() < 0:
		return time.Time{}, invalid("%s is before 1970", called)
	case t.After(now.Add(maxAhead)):
		return time.Time{}, invalid("%s is more than %v ahead", called, maxAhead)
	}
	return t, nil
}

// timeForm is RFC 3339's form of a time. time.Parse takes more: an hour of one digit, a comma, any
// offset (https://go.dev/issue/54580); and less: the letters T and Z only in upper case.
var timeForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?` +
	`(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func parseTime(s string) (time.Time, error) {
	s = strings.ToUpper(s)
	if !timeForm.MatchString(s) {
		return time.Time{}, errors.New("not of the form of RFC 3339")
	}
	return time.Parse(time.RFC3339, s)
}
