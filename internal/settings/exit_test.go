package settings

import (
	"errors"
	"flag"
	"fmt"
	"testing"
)

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{fmt.Errorf("parsing: %w", flag.ErrHelp), 0},
		{Problems{"WORKER_SHARDS is set but empty"}, 2},
		{errors.Join(Problems{"a"}, errors.New("b")), 2},
		{errors.New("the port is taken"), 1},
	} {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("exit code of %v is %d, want %d", tt.err, got, tt.want)
		}
	}
}
