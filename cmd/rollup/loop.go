package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/atlasmart/ordertally/internal/rollup"
	"github.com/atlasmart/ordertally/internal/settings"
	"github.com/atlasmart/ordertally/internal/statusz"
	"github.com/atlasmart/ordertally/internal/telemetry"
)

// A loop is a rollup that repeats, and what it shows of itself.
type loop struct {
	*program
	started time.Time
	job     *rollup.Job
	auditor *rollup.Auditor // nil: none
	log     *zap.Logger
	recent  *telemetry.Recent // of log
	health  telemetry.Health
}

// run rolls up, and audits where that is asked for, until ctx ends.
func (l *loop) run(ctx context.Context, signals *telemetry.Signals) (err error) {
	l.health.Live("rollup", func() error { return l.job.Live(time.Now()) })
	l.health.Ready("rollup", l.job.Ready)
	if l.cfg.AuditEvery > 0 {
		l.auditor, err = rollup.NewAuditor(l.client, l.cfg.Counter, l.log, signals.Meter())
		if err != nil {
			return err
		}
	}
	server, err := telemetry.Serve(ctx, l.cfg.Listen, "ROLLUP_LISTEN",
		telemetry.Handler(&l.health, signals.Metrics, statusz.Handler(l.status)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	var audits sync.WaitGroup
	defer audits.Wait()
	if l.auditor != nil {
		audits.Go(func() { l.auditor.Run(ctx, l.cfg.AuditEvery) })
	}
	l.job.Run(ctx, l.cfg.Every)
	return nil
}

// status is the page of the rollup at this moment.
func (l *loop) status(now time.Time) statusz.Page {
	p := statusz.Page{Program: "rollup", Build: telemetry.ReadBuild(), Started: l.started, Now: now,
		Notes: l.recent.Notes(), Settings: l.cfg.values()}
	p.Live, p.Ready = l.health.Problems()
	p.Facts = append(p.Facts, statusz.Fact{Name: "counter", Text: l.cfg.Counter})
	addRuns(&p, l.job.Status())
	if l.auditor != nil {
		addAudit(&p, l.auditor)
	}
	return p
}

// values are the settings as they may be shown.
func (c *config) values() []settings.Value {
	export := c.export.Redact()
	return settings.Values(settings.Spec{Into: &c.cloud}, settings.Spec{Prefix: "ROLLUP", Into: c},
		settings.Spec{Into: &export})
}

func addRuns(p *statusz.Page, s rollup.Status) {
	add := func(name, text string) {
		p.Facts = append(p.Facts, statusz.Fact{Name: name, Text: text})
	}
	add("runs", fmt.Sprintf("%d, %d of them failed", s.Runs, s.Failures))
	add("last success", statusz.Ago(p.Now, s.Success))
	if s.Success.IsZero() {
		return
	}
	add("it took", statusz.Duration(s.Took))
	add("total", fmt.Sprintf("%d, as of %s", s.Result.Total, stamp(s.Result.AsOf)))
	add("today", fmt.Sprintf("%d on %s", s.Result.Today.Total, s.Result.Today.Day))
	add("lag before it", fmt.Sprintf("%s, %d orders", millis(s.Result.LagMs), s.Result.LagEvents))
	add("shards", strconv.FormatInt(s.Result.Shards, 10))
}

func addAudit(p *statusz.Page, a *rollup.Auditor) {
	text := "none yet"
	if r := a.Last(); r != nil {
		text = fmt.Sprintf("%d markers, and the shards sum to %d, at %s",
			r.Markers, r.Count, stamp(r.ReadTime))
	}
	p.Facts = append(p.Facts, statusz.Fact{Name: "last audit", Text: text})
}
