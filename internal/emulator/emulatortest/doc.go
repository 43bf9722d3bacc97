// Package emulatortest gives tests the Firestore and Pub/Sub emulators.
//
//	func TestMain(m *testing.M) { emulatortest.Main(m) }
//
//	func TestCount(t *testing.T) {
//		env := emulatortest.New(t) // A project of its own: tests may run in parallel.
//		fs, ps := env.Firestore(), env.PubSub()
//		topic := env.Topic("orders")
//		sub := env.Subscription("orders-worker", topic, nil)
//		env.Publish(topic, []byte(`{"orderId":"1"}`))
//		// ...
//	}
//
// An emulator starts when the first test asks for it, and serves all tests of the
// package; those that FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST name are used
// instead of new ones. A test whose emulator cannot be had fails; only -short
// skips it.
package emulatortest
