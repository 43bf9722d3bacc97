package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/atlasmart/ordertally/internal/counter"
)

// recentFlags are which orders to list.
type recentFlags struct {
	n         int
	day, page string
	json      bool
}

func recentFlagsOf(set *flag.FlagSet) *recentFlags {
	f := &recentFlags{}
	set.IntVar(&f.n, "n", 50, "")
	set.StringVar(&f.day, "day", "", "")
	set.StringVar(&f.page, "page", "", "")
	set.BoolVar(&f.json, "json", false, "")
	return f
}

// wrong returns what is wrong with the flags, or "".
func (f *recentFlags) wrong() string {
	if f.n < 1 || f.n > counter.MaxRecent {
		return fmt.Sprintf("-n is %d, want 1 to %d", f.n, counter.MaxRecent)
	}
	if _, err := time.Parse(time.DateOnly, f.day); f.day != "" && err != nil {
		return fmt.Sprintf("-day is %q, want a day such as 2026-11-30", f.day)
	}
	return ""
}

func (f *recentFlags) run(ctx context.Context, p *program) error {
	if err := counter.CheckPage(f.page, p.cfg.Counter, f.day); err != nil {
		return misused(fmt.Sprintf("rollup recent: -page: %v", err))
	}
	l, err := counter.Recent(ctx, p.client, p.cfg.Counter, f.day, f.page, f.n)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(p.stdout, l)
	}
	return writeListing(p.stdout, l)
}

// writeListing shows one page to people.
func writeListing(w io.Writer, l *counter.Listing) error {
	if len(l.Orders) == 0 {
		_, err := fmt.Fprintf(w, "%s has no such orders\n", l.Counter)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "counted\torder\tsource\tday\tshard\taccepted\n")
	for _, o := range l.Orders {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", stamp(o.CreatedAt), printable(o.ID),
			printable(o.Source), o.Day, o.Shard, stamp(o.AcceptedAt))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if l.Next == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "more: -page %s\n", l.Next)
	return err
}

// printable quotes what would move a terminal's cursor: an order's id is any text.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
