// Package counter counts accepted orders, each exactly once, in Firestore.
//
// # Data model
//
//	counters/{counter}             the definition (numShards, timeZone), the last rollup, and the
//	                               audit's sealed part
//	counters/{counter}/shards/{i}  count int, days {"2026-11-30": int, …}, folded {"7": int, …}?
//	counters/{counter}/days/{day}  total int, asOf time, written by the rollup
//	counters/{counter}/repairs/{n} who changed the counts, when, and by how much
//	counters/{counter}/reshards/{} from int, to int, at time, by string: one for each Reshard
//	counters/{counter}/folds/{}    shard int, into int, count int, at time, by string: one for
//	                               each transaction of a Fold
//	counterEvents/{event}          the marker of one counted order
//
// An order's event is (counter, kind, source, orderId). The marker's document id is the
// lower-case hex SHA-256 of these four, joined by NUL (which none of them may contain): bounded,
// path-safe and evenly spread, whatever the ids look like. Sequential ids as document names would
// heat one key range (https://cloud.google.com/firestore/docs/best-practices#document_ids).
// The first eight bytes of the hash choose the shard, so a redelivery lands on the same shard.
//
// A marker holds what an operator needs to explain it: counter, kind, source, orderId, shard,
// day, acceptedAt, createdAt (server time), expireAt (for a TTL policy), messageId, and commit,
// which names the group commit that wrote it.
//
// # The guarantee
//
// A marker and its shard's increment are written in one transaction, the marker by a create that
// fails where it exists. So at any read time the sum of shards.count is the number of the
// counter's markers, until markers expire; and an order is counted once, whatever is delivered
// twice, killed or lost on the way, for as long as its marker lives.
//
// What may be wrong, by how much and for how long: the rollup is behind by at most one interval
// (rollupAsOf says since when); an order whose copy arrives after its marker expired is counted
// again; nothing else.
//
// # Another number of shards
//
// numShards may change while orders flow (Reshard), and each worker follows within 30 s by itself.
// An order's identity has no shard in it, so a copy that comes after the change meets its marker
// all the same. A marker's shard is the one that was incremented with it, for good.
//
// A shard beyond numShards counts on, until Fold moves its count and its days to shard i modulo
// numShards and deletes it, in one transaction. folded then says how much of the live shard's count
// has its markers elsewhere: by the shard that they name, also where that came through several
// folds. So for each shard i, at any read time,
//
//	shards/{i}.count = markers of shard i + the sum of shards/{i}.folded
//	                 - the sum of folded.{i} in all other shards
//
// where a shard without a document has count 0. Reading.Folded computes the last two terms.
//
// # Group commit
//
// Each shard has one lane, and a lane has at most one commit in flight: what arrives meanwhile is
// the next group. A group of N orders costs N marker creates and one increment of one shard, and
// no read. The way of one order is Counter.Add → lanes.join → lane.run → committer.commit →
// fireStore.commit, and back through entry.done.
package counter
