package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

const (
	plotWidth  = 860
	barsFrom   = 290
	barsTo     = 650
	p99From    = 730
	rowHeight  = 22
	headHeight = 46
)

// plot draws orders a second (bars, logarithmic) and the 99th percentile of the latency of each
// stage as an SVG that needs nothing else.
func plot(records []record) []byte {
	all := rows(records)
	var most float64
	for _, r := range all {
		most = max(most, r.perSecond)
	}
	var b bytes.Buffer
	height := headHeight + rowHeight*len(all) + 10
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`font-family="sans-serif" font-size="12">`+"\n", plotWidth, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	fmt.Fprintf(&b, `<text x="%d" y="20" font-weight="bold">orders/s (logarithmic)</text>`+
		`<text x="%d" y="20" font-weight="bold">p99 ms</text>`+"\n", barsFrom, p99From)
	for i, r := range all {
		y := headHeight + rowHeight*i
		width := max(1, float64(barsTo-barsFrom)*math.Log10(max(1, r.perSecond))/math.Log10(max(10, most)))
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, barsFrom-8, y+12,
			html.EscapeString(r.label()))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.0f" height="14" fill="%s"/>`, barsFrom, y,
			width, colour(r.mode))
		fmt.Fprintf(&b, `<text x="%.0f" y="%d">%.0f</text><text x="%d" y="%d">%.1f</text>`+"\n",
			barsFrom+width+6, y+12, r.perSecond, p99From, y+12, r.p99)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// colour tells ours from the ceilings and from the rest.
func colour(mode string) string {
	switch mode {
	case "group", "end-to-end", "replay", "replay-remembered", "three-workers", "duplicates":
		return "#1a73e8"
	case "raw", "ack-only":
		return "#9aa0a6"
	}
	return "#e8710a"
}
