package counter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// KindAccepted is the kind under which every accepted order is counted. Messages may name it
// differently (see WORKER_KINDS); the identity does not.
const KindAccepted = "ORDER_ACCEPTED"

// MaxIDBytes is the longest order id or source, in bytes of UTF-8. The two appear in the marker
// as indexed fields, and Firestore truncates an indexed string at 1,500 bytes
// (https://firebase.google.com/docs/firestore/quotas#indexes).
const MaxIDBytes = 512

// An Order is one accepted order as a message described it.
type Order struct {
	ID          string    // 1 to MaxIDBytes bytes of UTF-8 without NUL, kept byte for byte
	Source      string    // the system whose id this is, to the same rule; "" is a source too
	AcceptedAt  time.Time // decides the day that the order belongs to
	PublishedAt time.Time // when Pub/Sub took the message
	MessageID   string    // the delivery's Pub/Sub message id: for people, never for identity
}

// An EventID is the identity of an order in a counter, and the name of its marker.
type EventID [sha256.Size]byte

// Event returns the order's identity in the named counter.
func (o Order) Event(counter string) EventID {
	b := make([]byte, 0, 256)
	b = append(b, counter...)
	b = append(b, 0)
	b = append(b, KindAccepted...)
	b = append(b, 0)
	b = append(b, o.Source...)
	b = append(b, 0)
	b = append(b, o.ID...)
	return sha256.Sum256(b)
}

// String returns the marker's document id: 64 lower-case hex digits.
func (id EventID) String() string { return hex.EncodeToString(id[:]) }

// Shard returns the shard of the event among n, 0 to n-1.
func (id EventID) Shard(n int) int {
	return int(binary.BigEndian.Uint64(id[:8]) % uint64(n))
}

// Day returns the calendar day of t in loc, as the counter's documents write it.
func Day(t time.Time, loc *time.Location) string { return t.In(loc).Format(time.DateOnly) }

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// CheckName reports whether name can be a counter's name: 1 to 128 of A-Z a-z 0-9 . _ -, and
// none of the names that Firestore reserves (., .. and __…__).
func CheckName(name string) error {
	reserved := name == "." || name == ".." ||
		strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
	if !nameForm.MatchString(name) || reserved {
		return fmt.Errorf("%q is not a counter name: want 1 to 128 of A-Z a-z 0-9 . _ - "+
			"other than . or .. or __…__", name)
	}
	return nil
}
