package settings

import (
	"errors"
	"flag"
)

// ExitCode is the exit code of a program whose run ended with err: 0 done, also when it was asked
// for help; 2 for Problems; 1 for anything else.
func ExitCode(err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if _, ok := errors.AsType[Problems](err); ok {
		return 2
	}
	return 1
}
