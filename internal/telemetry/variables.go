package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// variables are what the OpenTelemetry SDK and its exporters read by themselves. Of a value that
// they cannot read they say so in a log line at most, and go on without it; here it is a problem,
// like every other setting that is malformed.
var variables = []struct {
	check func(value string) error
	names []string
}{
	{milliseconds, append(otlp("TIMEOUT"), "OTEL_METRIC_EXPORT_INTERVAL",
		"OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT")},
	{positive, []string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_SPAN_EVENT_COUNT_LIMIT",
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"}},
	{among("gzip", "none"), otlp("COMPRESSION")},
	{among("true", "false"), otlp("INSECURE")},
	{pairs, append(otlp("HEADERS"), "OTEL_RESOURCE_ATTRIBUTES")},
	{readable, append(append(otlp("CERTIFICATE"), otlp("CLIENT_CERTIFICATE")...),
		otlp("CLIENT_KEY")...)},
	{among("always_on", "always_off", "traceidratio", "parentbased_always_on",
		"parentbased_always_off", "parentbased_traceidratio"), []string{"OTEL_TRACES_SAMPLER"}},
	{ratio, []string{"OTEL_TRACES_SAMPLER_ARG"}},
	{among("cumulative", "delta", "lowmemory"),
		[]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"}},
	{among("explicit_bucket_histogram", "base2_exponential_bucket_histogram"),
		[]string{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"}},
}

// otlp returns the variables of an exporter's option: for both signals, and for each.
func otlp(option string) []string {
	const prefix = "OTEL_EXPORTER_OTLP_"
	return []string{prefix + option, prefix + "METRICS_" + option, prefix + "TRACES_" + option}
}

// checkVariables returns a line for each of the variables that the SDK would not understand.
func checkVariables() (problems []string) {
	for _, v := range variables {
		for _, name := range v.names {
			value := strings.TrimSpace(os.Getenv(name))
			if value == "" {
				continue // not set, by the standard
			}
			if err := v.check(value); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			}
		}
	}
	return problems
}

func milliseconds(value string) error {
	if positive(value) != nil {
		return fmt.Errorf("%q is not a number of milliseconds", value)
	}
	return nil
}

func positive(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n <= 0 {
		return fmt.Errorf("%q is not a whole number above 0", value)
	}
	return nil
}

func ratio(value string) error {
	if f, err := strconv.ParseFloat(value, 64); err != nil || !(0 <= f && f <= 1) {
		return fmt.Errorf("%q is not a number from 0 to 1", value)
	}
	return nil
}

func among(known ...string) func(string) error {
	return func(value string) error { return oneOf(strings.ToLower(value), known...) }
}

// pairs never shows the value: a header may be a key that nobody is to see.
func pairs(value string) error {
	for pair := range strings.SplitSeq(value, ",") {
		key, v, ok := strings.Cut(pair, "=")
		_, err := url.PathUnescape(v)
		if !ok || strings.TrimSpace(key) == "" || err != nil {
			return errors.New("is not a list like key=value,key=value")
		}
	}
	return nil
}

func readable(path string) error {
	_, err := os.ReadFile(path)
	return err
}
