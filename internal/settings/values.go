package settings

import (
	"fmt"
	"strings"
)

// A Value is a variable and what holds for it, as a default or as it was set.
type Value struct{ Name, Text string }

// Values lists what the structs of the specs hold, in their order, for people.
func Values(specs ...Spec) (values []Value) {
	for _, s := range specs {
		for _, f := range fieldsOf(s) {
			text := fmt.Sprint(f.value.Interface())
			if list, ok := f.value.Interface().([]string); ok {
				text = strings.Join(list, ",")
			}
			values = append(values, Value{f.name, text})
		}
	}
	return values
}
