package settings

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kelseyhightower/envconfig"
)

// A field is one setting: a variable, and the struct field that it fills.
type field struct {
	name  string
	tag   reflect.StructTag
	value reflect.Value
	form  string // What a value looks like.
}

func fieldsOf(s Spec) (fields []field) {
	into := reflect.ValueOf(s.Into).Elem()
	for _, f := range reflect.VisibleFields(into.Type()) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name := f.Tag.Get("envconfig")
		if name == "" {
			panic(fmt.Sprintf("settings: %v.%s has no envconfig tag", into.Type(), f.Name))
		}
		if s.Prefix != "" {
			name = s.Prefix + "_" + name
		}
		v := into.FieldByIndex(f.Index)
		fields = append(fields, field{name, f.Tag, v, form(v)})
	}
	return fields
}

// load fills the field and returns what is wrong with its variable, or "". A field that cannot be
// filled gets its default, so that what depends on it can be checked all the same.
func (f field) load() (problem string) {
	defer func() {
		if problem != "" && f.tag.Get("default") != "" {
			v, _ := f.parse(f.name + " by default") // no variable is called so
			f.value.Set(v)
		}
	}()
	raw, problem := f.lookup()
	if raw == "" {
		return problem
	}
	v, err := f.parse(f.name)
	if err != nil || !wellFormed(raw, v) {
		return fmt.Sprintf("must be %s, got %s", f.form, quote(raw))
	}
	if bounds, got := f.outside(raw, v); bounds != "" {
		return fmt.Sprintf("must be %s, got %s", bounds, got)
	}
	f.value.Set(v)
	return ""
}

// lookup returns the text to parse, or the reason why there is none: a problem, or "".
func (f field) lookup() (raw, problem string) {
	raw, set := os.LookupEnv(f.name)
	switch {
	case !set && f.is("required"):
		return "", "is required"
	case !set:
		return f.tag.Get("default"), ""
	case raw == "" && !f.is("empty"):
		return "", "is set but empty"
	case raw == "":
		f.value.SetZero()
	}
	return raw, ""
}

func (f field) is(tag string) bool { return f.tag.Get(tag) == "true" }

// parse has envconfig read the field as the only one of a struct, because envconfig stops at the
// first field that it cannot read. The whole name goes into the tag: given a prefix apart from
// it, envconfig would fall back to the name without the prefix.
func (f field) parse(name string) (reflect.Value, error) {
	one := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Value",
		Type: f.value.Type(),
		Tag:  reflect.StructTag(fmt.Sprintf("envconfig:%q default:%q", name, f.tag.Get("default"))),
	}}))
	err := envconfig.Process("", one.Interface())
	return one.Elem().Field(0), err
}

// form says what a value of v's type looks like.
func form(v reflect.Value) string {
	switch v.Interface().(type) {
	case string:
		return "text without white space around it"
	case []string:
		return "a list like a,b without white space or empty items"
	case int:
		return "a whole number"
	case bool:
		return "true or false"
	case time.Duration:
		return "a duration like 90s or 840h"
	}
	panic(fmt.Sprintf("settings: a setting cannot be of type %v", v.Type()))
}

// wellFormed is strict where envconfig is lax: it reads 010 as 8, and keeps the space in "a, b".
func wellFormed(raw string, v reflect.Value) bool {
	switch v := v.Interface().(type) {
	case string:
		return plain(v)
	case []string:
		for _, item := range v {
			if item == "" || !plain(item) {
				return false
			}
		}
		return len(v) > 0
	case int:
		return strconv.Itoa(v) == raw
	}
	return true
}

func plain(s string) bool {
	return utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

// quoteMax keeps a message on its line when somebody set a variable to a whole file.
const quoteMax = 60

func quote(s string) string {
	if len(s) <= quoteMax {
		return strconv.Quote(s)
	}
	end := quoteMax
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "…"
}
