// Package emulator starts Google's Firestore and Pub/Sub emulators on free
// loopback ports, for tests and for the demo, and stops exactly what it started.
//
//	pair, err := emulator.Start(ctx, "")
//	if err != nil {
//		return err
//	}
//	defer pair.Stop()
//	cmd.Env = append(os.Environ(), pair.Env()...)
//
// An emulator that FIRESTORE_EMULATOR_HOST or PUBSUB_EMULATOR_HOST names is used
// as it is, and left running. One that is started here never outlives its
// starter: a guard holds the read end of a pipe that closes when the starter
// stops it, exits, panics or is killed, and then kills the emulator's group.
//
// Tests use the package emulatortest.
package emulator
