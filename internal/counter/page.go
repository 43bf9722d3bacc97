package counter

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A page token says where a listing of the newest orders goes on. It is one position for all
// shards: the order of the listing is total, so each shard's cursor follows from it.
type page struct {
	Counter string    `json:"c"`
	Day     string    `json:"d,omitempty"`
	Created time.Time `json:"t"`
	Event   string    `json:"e"`
}

// ErrBadPage means that a page token is none, or belongs to another listing.
var ErrBadPage = errors.New("bad page token")

// String is the token: opaque to its bearer.
func (p page) String() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a time of the server and three strings
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePage reads a token of the listing of that counter and day; "" is the listing's beginning.
func parsePage(token, counter, day string) (p page, err error) {
	if token == "" {
		return page{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	event, herr := hex.DecodeString(p.Event)
	if err != nil || herr != nil || len(event) != len(EventID{}) || p.Created.IsZero() {
		return page{}, fmt.Errorf("%w: it is not one that this command printed", ErrBadPage)
	}
	if p.Counter != counter {
		return page{}, fmt.Errorf("%w: it is of the counter %q, not of %q", ErrBadPage, p.Counter,
			counter)
	}
	if p.Day != day {
		return page{}, fmt.Errorf("%w: it is of %s, not of %s", ErrBadPage, dayName(p.Day),
			dayName(day))
	}
	return p, nil
}

func dayName(day string) string {
	if day == "" {
		return "all days"
	}
	return "the day " + day
}
