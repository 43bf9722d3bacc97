package counter

import "sync"

// memoryCap is how many markers one generation of the memory holds. Two full generations are
// 131,072 markers in about 10 MiB, several seconds of traffic at full speed: enough for the
// copies that Pub/Sub delivers shortly after the first.
const memoryCap = 1 << 16

// A memory remembers markers that are known to be committed, so that a hot redelivery is
// answered without a call. It forgets the oldest half when it is full.
type memory struct {
	mu          sync.Mutex
	young, aged map[EventID]struct{}
	cap         int
}

func newMemory(generation int) *memory {
	return &memory{young: map[EventID]struct{}{}, cap: generation}
}

func (m *memory) add(ids ...EventID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if len(m.young) >= m.cap {
			m.aged, m.young = m.young, make(map[EventID]struct{}, m.cap)
		}
		m.young[id] = struct{}{}
	}
}

func (m *memory) has(id EventID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.young[id]; ok {
		return true
	}
	_, ok := m.aged[id]
	return ok
}
