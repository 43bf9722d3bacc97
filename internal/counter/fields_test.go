package counter

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseShard(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   string
		data map[string]any
		want string // the error; "" for none
	}{
		{"whole", "3", map[string]any{"count": int64(5), "days": map[string]any{
			"2026-11-30": int64(5)}}, ""},
		{"without days", "3", map[string]any{"count": int64(0)}, ""},
		{"no count", "3", map[string]any{"days": map[string]any{}},
			"counters/c/shards/3: count is missing, want an integer"},
		{"null count", "3", map[string]any{"count": nil},
			"counters/c/shards/3: count is null, want an integer"},
		{"string count", "3", map[string]any{"count": "5"},
			"counters/c/shards/3: count is a string, want an integer"},
		{"double count", "3", map[string]any{"count": 5.0},
			"counters/c/shards/3: count is a double, want an integer"},
		{"negative count", "3", map[string]any{"count": int64(-1)},
			"counters/c/shards/3: count is -1, want 0 to 9223372036854775806"},
		{"saturated count", "3", map[string]any{"count": int64(math.MaxInt64)},
			"counters/c/shards/3: count is 9223372036854775807, want 0 to 9223372036854775806"},
		{"days no map", "3", map[string]any{"count": int64(1), "days": int64(1)},
			"counters/c/shards/3: days is an integer, want a map of integers"},
		{"day no integer", "3", map[string]any{"count": int64(1), "days": map[string]any{
			"2026-11-30": true}},
			"counters/c/shards/3: days.2026-11-30 is a boolean, want an integer"},
		{"negative day", "3", map[string]any{"count": int64(1), "days": map[string]any{
			"2026-11-30": int64(-2)}},
			"counters/c/shards/3: days.2026-11-30 is -2, want 0 to 9223372036854775806"},
		{"name no number", "x", map[string]any{"count": int64(1)},
			"counters/c/shards/x: not a shard: its name is not a number"},
		{"name not canonical", "03", map[string]any{"count": int64(1)},
			"counters/c/shards/03: not a shard: its name is not a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseShard("c", tt.id, tt.data)
			if diff := cmp.Diff(tt.want, text(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefinitionFields(t *testing.T) {
	good := func(change map[string]any) map[string]any {
		data := map[string]any{"numShards": int64(10), "schemaVersion": int64(1),
			"timeZone": "Asia/Seoul", "createdAt": noon}
		for k, v := range change {
			data[k] = v
			if v == "absent" {
				delete(data, k)
			}
		}
		return data
	}
	for _, tt := range []struct {
		name   string
		change map[string]any
		want   string
	}{
		{"good", nil, ""},
		{"no shards", map[string]any{"numShards": "absent"},
			"counters/c: numShards is missing, want an integer"},
		{"0 shards", map[string]any{"numShards": int64(0)},
			"counters/c: numShards is 0, want 1 to 1000"},
		{"too many shards", map[string]any{"numShards": int64(100_000)},
			"counters/c: numShards is 100000, want 1 to 1000"},
		{"double shards", map[string]any{"numShards": 10.0},
			"counters/c: numShards is a double, want an integer"},
		{"newer schema", map[string]any{"schemaVersion": int64(2)},
			"counters/c: schemaVersion is 2, and this program reads 1"},
		{"no schema", map[string]any{"schemaVersion": "absent"},
			"counters/c: schemaVersion is missing, want an integer"},
		{"unknown zone", map[string]any{"timeZone": "Mars/Olympus"},
			`counters/c: timeZone is "Mars/Olympus", want a name of the IANA time zone database`},
		{"the host's zone", map[string]any{"timeZone": "Local"},
			`counters/c: timeZone is "Local", want a name of the IANA time zone database`},
		{"no zone", map[string]any{"timeZone": "absent"},
			"counters/c: timeZone is missing, want a string"},
		{"createdAt no time", map[string]any{"createdAt": "yesterday"},
			"counters/c: createdAt is a string, want a time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fields{path: "counters/c", data: good(tt.change)}
			def := f.definition()
			if diff := cmp.Diff(tt.want, text(f.err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if f.err == nil && (def.Shards != 10 || def.Location.String() != "Asia/Seoul" ||
				!def.CreatedAt.Equal(noon)) {
				t.Errorf("definition %+v", def)
			}
		})
	}
}

func TestRollupFields(t *testing.T) {
	today := map[string]any{"day": "2026-11-30", "total": int64(3)}
	whole := map[string]any{"rollupTotal": int64(9), "rollupToday": today, "rollupAsOf": noon,
		"rollupAt": noon.Add(time.Second), "rollupLagMs": int64(100),
		"rollupLagEvents": int64(2), "rollupShards": int64(4)}
	f := fields{path: "counters/c", data: whole}
	want := Rollup{Total: 9, Today: DayTotal{"2026-11-30", 3}, AsOf: noon,
		At: noon.Add(time.Second), LagMs: 100, LagEvents: 2, Shards: 4}
	if diff := cmp.Diff(want, f.rollup()); diff != "" || f.err != nil {
		t.Errorf("rollup (-want +got):\n%s\nerror: %v", diff, f.err)
	}
	f = fields{path: "counters/c", data: map[string]any{"numShards": int64(1)}}
	if got := f.rollup(); got != (Rollup{}) || f.err != nil {
		t.Errorf("never rolled up: %+v, %v", got, f.err)
	}
	today["total"] = "3"
	f = fields{path: "counters/c", data: whole}
	f.rollup()
	if diff := cmp.Diff("counters/c rollupToday: total is a string, want an integer",
		text(f.err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestReadingCheck(t *testing.T) {
	half := Shard{Count: math.MaxInt64/2 + 1}
	if err := (&Reading{Shards: []Shard{half}}).check(); err != nil {
		t.Errorf("one half: %v", err)
	}
	if (&Reading{Shards: []Shard{half, half}}).check() == nil {
		t.Error("two halves of more than int64: no error")
	}
	half = Shard{Days: map[string]int64{"a": math.MaxInt64 / 2, "b": math.MaxInt64 / 2}}
	if (&Reading{Shards: []Shard{half, half}}).check() == nil {
		t.Error("days of more than int64: no error")
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
