package emulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// namedTimeout is how long an emulator that the environment names has to answer.
const namedTimeout = 10 * time.Second

// Pair is the two emulators.
type Pair struct {
	Firestore, PubSub *Emulator
}

// Start uses the emulators that the environment names, and starts those it does
// not. For logDir see StartFirestore.
func Start(ctx context.Context, logDir string) (*Pair, error) {
	var (
		p            Pair
		fsErr, psErr error
		wg           sync.WaitGroup
	)
	wg.Go(func() { p.Firestore, fsErr = firestoreService.use(ctx, logDir) })
	wg.Go(func() { p.PubSub, psErr = pubSubService.use(ctx, logDir) })
	wg.Wait()
	if err := errors.Join(fsErr, psErr); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return &p, nil
}

// use returns the emulator that the service's variable names, or starts one.
func (s service) use(ctx context.Context, logDir string) (*Emulator, error) {
	addr := trimScheme(os.Getenv(s.variable))
	if addr == "" {
		return s.start(ctx, logDir)
	}
	ctx, cancel := context.WithTimeout(ctx, namedTimeout)
	defer cancel()
	if err := answers(ctx, addr); err != nil {
		return nil, fmt.Errorf("asking the %s emulator that %s names: %w", s.name, s.variable, err)
	}
	return &Emulator{Addr: addr}, nil
}

// trimScheme takes off what the Firestore client allows in front of the address.
func trimScheme(addr string) string {
	return strings.TrimPrefix(strings.TrimPrefix(addr, "http://"), "https://")
}

// Env returns the settings that lead every Google client to the pair, in the form
// of os.Environ.
func (p *Pair) Env() []string {
	return []string{
		firestoreService.variable + "=" + p.Firestore.Addr,
		pubSubService.variable + "=" + p.PubSub.Addr,
	}
}

// Stop ends those of the pair that Start started.
func (p *Pair) Stop() error {
	var errs []error
	for _, e := range []*Emulator{p.Firestore, p.PubSub} {
		if e != nil {
			errs = append(errs, e.Stop())
		}
	}
	return errors.Join(errs...)
}
