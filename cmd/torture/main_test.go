package main

import (
	"testing"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

func TestMain(m *testing.M) { emulatortest.Main(m) }
