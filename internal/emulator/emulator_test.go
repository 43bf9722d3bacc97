package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func needsEmulators(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this test needs the emulators")
	}
}

func TestStart_nothingOutlivesItsStarter(t *testing.T) {
	t.Parallel()
	for ending, env := range map[string][]string{
		"exit":  {"CLOUDSDK_ROOT=" + fakeSDK(t, fakeScript())},
		"panic": {"CLOUDSDK_ROOT=" + fakeSDK(t, fakeScript())},
		"kill":  nil, // With the real emulators.
	} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			if ending == "kill" {
				needsEmulators(t)
			}
			s := newStarter(t, ending, env...)
			if ending == "kill" {
				if err := s.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.allGone(); err != nil {
				t.Errorf("the emulators outlive their starter: %v", err)
			}
			_ = s.cmd.Wait()
		})
	}
}

func TestStart_theEmulatorServesUntilStop(t *testing.T) {
	t.Parallel()
	for _, s := range []service{firestoreService, pubSubService} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			needsEmulators(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s.freeAddr = onceThenFree(l.Addr().String()) // The first attempt must fail.
			e, err := s.start(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if err := answers(t.Context(), e.Addr); err != nil {
				t.Error(err)
			}
			if pgid, err := syscall.Getpgid(e.group.cmd.Process.Pid); pgid == syscall.Getpgrp() {
				t.Errorf("a Ctrl-C would reach the emulator: it is in our group (%v)", err)
			}
			checkStop(t, e)
		})
	}
}

// onceThenFree returns addr at first, and a free address ever after.
func onceThenFree(addr string) func() (string, error) {
	next := func() (string, error) { return addr, nil }
	return func() (string, error) {
		defer func() { next = FreeAddr }()
		return next()
	}
}

// checkStop stops an emulator, twice, and reports what is left of it.
func checkStop(t *testing.T, e *Emulator) {
	t.Helper()
	for range 2 {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	}
	l, err := net.Listen("tcp", e.Addr)
	if err != nil {
		t.Fatalf("its port is still bound: %v", err)
	}
	l.Close()
	if _, err := os.Stat(e.group.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is still there: %v", err)
	}
}

// scripted makes the launchers of this test a script.
func scripted(t *testing.T, script string) {
	t.Helper()
	t.Setenv("CLOUDSDK_ROOT", fakeSDK(t, script))
}

func TestStart_theReasonOfAnEarlyEndIsTold(t *testing.T) {
	scripted(t, "echo this Java is too old; exit 1")
	_, err := StartPubSub(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "this Java is too old") {
		t.Errorf("got error %v", err)
	}
}

func TestStart_givesUpPortsThatAreAllTaken(t *testing.T) {
	scripted(t, "echo Address already in use; exec cat /dev/zero >/dev/null")
	if _, err := StartPubSub(t.Context(), ""); !errors.Is(err, errPortTaken) {
		t.Errorf("got error %v, want %v", err, errPortTaken)
	}
}

func TestStart_endsWithItsContext(t *testing.T) {
	scripted(t, "echo booting; kill -STOP $$")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s := pubSubService
	s.freeAddr = func() (string, error) { cancel(why); return FreeAddr() }
	if _, err := s.start(ctx, ""); !errors.Is(err, why) {
		t.Errorf("got error %v, want %v", err, why)
	}
}

func TestStart_writesALogWhereItIsTold(t *testing.T) {
	scripted(t, "echo Address already in use; echo more")
	dir := t.TempDir()
	_, err := StartPubSub(t.Context(), dir)
	if !errors.Is(err, errPortTaken) {
		t.Fatalf("got error %v, want %v", err, errPortTaken)
	}
	if _, err := os.Stat(filepath.Join(dir, "pubsub-emulator.log")); err != nil {
		t.Error(err)
	}
}

func TestStart_usesNamedEmulators(t *testing.T) {
	scripted(t, fakeScript())
	e, err := StartPubSub(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	// Both answer in the same way when they are asked how they are.
	t.Setenv(firestoreService.variable, "http://"+e.Addr)
	t.Setenv(pubSubService.variable, e.Addr)
	pair, err := Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"FIRESTORE_EMULATOR_HOST=" + e.Addr, "PUBSUB_EMULATOR_HOST=" + e.Addr}
	if diff := cmp.Diff(want, pair.Env()); diff != "" {
		t.Errorf("Env (-want +got):\n%s", diff)
	}
	if pair.Firestore.Started() || pair.PubSub.Started() {
		t.Error("the pair claims to have started what was named")
	}
	if err := pair.Stop(); err != nil {
		t.Error(err)
	}
	if err := answers(t.Context(), e.Addr); err != nil {
		t.Errorf("Stop ended what it had not started: %v", err)
	}
}

func TestStart_aNamedEmulatorIsNotThere(t *testing.T) {
	addr, err := FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(firestoreService.variable, addr)
	t.Setenv(pubSubService.variable, addr)
	_, err = Start(t.Context(), "")
	for _, variable := range []string{firestoreService.variable, pubSubService.variable} {
		if !strings.Contains(fmt.Sprint(err), variable) {
			t.Errorf("the error does not name %s: %v", variable, err)
		}
	}
}
