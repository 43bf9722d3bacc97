package counter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// A wire breaks calls between the client and the emulator.
type wire struct {
	code codes.Code
	lost bool // after the call was applied, else before it is made

	mu   sync.Mutex
	rand *rand.Rand
	hits int
}

// wireFaults is how many calls a wire breaks, a third of those that pass until then.
const wireFaults = 12

func (w *wire) strike() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hits == wireFaults || w.rand.IntN(3) > 0 {
		return false
	}
	w.hits++
	return true
}

func (w *wire) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if !strings.HasSuffix(method, "/Commit") && !strings.HasSuffix(method, "/BeginTransaction") ||
		!w.strike() {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	if w.lost {
		if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
			return err
		}
	}
	return status.Error(w.code, "the wire broke")
}

// TestBrokenWire sends doubled orders through two workers whose calls to the emulator fail with
// every transient code, before they are applied and after. The client has retries of its own for
// some codes, and a transaction whose answer was lost looks closed to them: what it makes of the
// faults is its own, and the counts are exact all the same.
func TestBrokenWire(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.Aborted, codes.DeadlineExceeded,
		codes.ResourceExhausted, codes.Internal, codes.Unknown, codes.Canceled} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v lost=%v", code, lost), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				w := &wire{code: code, lost: lost, rand: rand.New(rand.NewPCG(seed, 0))}
				env := emulatortest.New(t)
				w.carry(t, env, env.Firestore())
			})
		}
	}
}

func (w *wire) carry(t *testing.T, env *emulatortest.Env, sound *firestore.Client) {
	def := define(t, sound, "orders", 3)
	const orders = 90
	var counters []*Counter
	for range 2 {
		broken := env.Firestore(grpc.WithUnaryInterceptor(w.unary))
		c, err := New(broken, "orders", def, Options{GroupMax: 7, MarkerTTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		counters = append(counters, c)
	}
	var mu sync.Mutex
	counted := map[string]int{}
	var wg sync.WaitGroup
	for i := range 2 * orders {
		id := fmt.Sprint("ord-", i%orders)
		wg.Go(func() {
			got, err := counters[i%2].Add(t.Context(), order(id))
			if err != nil {
				t.Errorf("adding %s: %v", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got == Counted {
				counted[id]++
			}
		})
	}
	wg.Wait()
	if w.hits == 0 {
		t.Error("the wire never broke")
	}
	a, err := Audit(t.Context(), sound, "orders")
	if err != nil || !a.OK || a.Count != orders {
		t.Errorf("audit: %+v, %v, want %d", a, err, orders)
	}
	for id, n := range counted {
		if n != 1 {
			t.Errorf("%s was called counted %d times", id, n)
		}
	}
	if len(counted) != orders {
		t.Errorf("%d orders were called counted, want %d", len(counted), orders)
	}
}
