package consume

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// readObject reads the named members of the JSON object that data is, and skips all others. It is
// strict where a lax reader would take two texts for one, or one for two: it refuses invalid
// UTF-8 and lone surrogates, a byte-order mark, a named member that appears twice, and anything
// after the object. Names are case-sensitive.
func readObject(data []byte, names ...string) (map[string]jsontext.Value, error) {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, errors.New("it starts with a byte-order mark")
	}
	// A name that we do not read may stand twice: nothing depends on it.
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	start, err := dec.ReadToken()
	if err != nil {
		return nil, syntax(err)
	}
	if start.Kind() != '{' {
		return nil, fmt.Errorf("it is %s, want an object", kindName(start.Kind()))
	}
	members := make(map[string]jsontext.Value, len(names))
	for dec.PeekKind() != '}' {
		if err := readMember(dec, members, names); err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntax(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return members, nil
}

func readMember(dec *jsontext.Decoder, into map[string]jsontext.Value, names []string) error {
	token, err := dec.ReadToken()
	if err != nil {
		return syntax(err)
	}
	name := token.String()
	if !slices.Contains(names, name) {
		return syntax(dec.SkipValue())
	}
	if _, twice := into[name]; twice {
		return fmt.Errorf("%s appears twice", name)
	}
	value, err := dec.ReadValue()
	if err != nil {
		return syntax(err)
	}
	into[name] = value.Clone() // the decoder reuses its buffer
	return nil
}

// syntax words a reader's error for people. It quotes at most one character of the input: with an
// escape the reader quotes the bytes after it too, which may be an id's.
func syntax(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || s.Err == nil {
		return errors.New("it is not JSON")
	}
	problem := s.Err.Error()
	for _, escape := range []string{"invalid escape sequence", "invalid surrogate pair"} {
		if strings.HasPrefix(problem, escape) {
			problem = escape + " in string"
		}
	}
	return fmt.Errorf("it is not JSON: %s at byte %d", problem, s.ByteOffset)
}

// kindName names a JSON value's type.
func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "nothing"
}

// text returns the text of a JSON string, exactly: the reader has checked it.
func text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err == nil
}
