package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/user"

	"github.com/atlasmart/ordertally/internal/counter"
)

// A reshardJob is the command reshard with its flags.
type reshardJob struct {
	set    *flag.FlagSet
	shards int
	fold   bool
	json   bool
}

func reshardFlags(set *flag.FlagSet) *reshardJob {
	j := &reshardJob{set: set}
	set.IntVar(&j.shards, "shards", 0, "")
	set.BoolVar(&j.fold, "fold", false, "")
	set.BoolVar(&j.json, "json", false, "")
	return j
}

// wrong returns what is wrong with the flags, or "".
func (j *reshardJob) wrong() string {
	switch {
	case !j.resharding() && !j.fold:
		return "want -shards N, -fold or both"
	case j.resharding() && (j.shards < 1 || j.shards > counter.MaxShards):
		return fmt.Sprintf("want -shards 1 to %d, got %d", counter.MaxShards, j.shards)
	}
	return ""
}

func (j *reshardJob) resharding() bool {
	given := false
	j.set.Visit(func(f *flag.Flag) { given = given || f.Name == "shards" })
	return given
}

// A reshardView is what the command did.
type reshardView struct {
	Counter string           `json:"counter"`
	From    int              `json:"from,omitempty"` // 0: not resharded
	To      int              `json:"to,omitempty"`
	Folded  []counter.Folded `json:"folded"`

	fold bool // it was asked for
}

// run changes the number first, so that a fold works by the new one. What was done before an
// error is shown all the same.
func (j *reshardJob) run(ctx context.Context, p *program) error {
	v := reshardView{Counter: p.cfg.Counter, fold: j.fold, Folded: []counter.Folded{}}
	err := j.work(ctx, p, &v)
	if err != nil && v.To == 0 && len(v.Folded) == 0 {
		return err // nothing was done
	}
	if j.json {
		return errors.Join(writeJSON(p.stdout, v), err)
	}
	return errors.Join(v.write(p.stdout), err)
}

func (j *reshardJob) work(ctx context.Context, p *program, v *reshardView) error {
	by := operator()
	if j.resharding() {
		was, err := counter.Reshard(ctx, p.client, v.Counter, j.shards, by)
		if err != nil {
			return err
		}
		v.From, v.To = was, j.shards
	}
	if j.fold {
		folded, err := counter.Fold(ctx, p.client, v.Counter, by)
		v.Folded = append(v.Folded, folded...)
		return err
	}
	return nil
}

// operator names who runs the command, as well as the system knows: for the records.
func operator() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// write shows the view to people.
func (v reshardView) write(w io.Writer) error {
	var err error
	line := func(format string, args ...any) {
		_, werr := fmt.Fprintf(w, format+"\n", args...)
		err = errors.Join(err, werr)
	}
	switch {
	case v.To == 0:
	case v.From == v.To:
		line("%s has %s already", v.Counter, count(v.To, "shard"))
	default:
		line("%s has %s now, and had %d; running workers follow within 30s",
			v.Counter, count(v.To, "shard"), v.From)
	}
	if v.To < v.From && !v.fold {
		line("the other shards count on; when the workers have followed, " +
			"rollup reshard -fold moves their orders")
	}
	var orders int64
	for _, f := range v.Folded {
		line("shard %d folded into %d: %s", f.Shard, f.Into, count(f.Count, "order"))
		orders += f.Count
	}
	if v.fold {
		line("folded %s, %s", count(len(v.Folded), "shard"), count(orders, "order"))
	}
	return err
}

// count is a number of things.
func count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
