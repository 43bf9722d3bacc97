// Package consume is the Pub/Sub edge of the worker: it decodes each message, hands the order
// over to be counted, and settles the message once the answer is sure.
//
// The way of a message is Consumer.Run → Consumer.handle → Decoder.Decode → Counter.Add, and then
// an ack, a copy to the dead letters and an ack, or a nack. A message is acknowledged only after
// its order's commit succeeded or its marker was seen. A callback blocks until then: Pub/Sub's
// flow control and lease extension hold only for messages whose callback has not returned.
package consume
