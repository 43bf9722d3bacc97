package consume

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A payload is a message out of its envelope.
type payload struct {
	members map[string]jsontext.Value // of the body or the event's data
	event   map[string]jsontext.Value // the CloudEvent's own, used where members lack theirs
	problem error                     // why there are no members
}

var orderNames = []string{"orderId", "kind", "source", "acceptedAt"}

// open takes a message out of its envelope: a structured CloudEvent, a binary one, or none
// (https://github.com/googleapis/google-cloudevents/blob/main/docs/spec/pubsub.md). The event's
// source and id stay behind: they name the emitter and the emission, which may change between
// two deliveries of one order.
func open(m Message) *payload {
	contentType := strings.TrimSpace(strings.ToLower(m.Attributes["content-type"]))
	if strings.HasPrefix(contentType, "application/cloudevents") {
		return openStructured(m.Data)
	}
	p := &payload{event: map[string]jsontext.Value{}}
	for _, name := range []string{"type", "time"} {
		if s, ok := m.Attributes["ce-"+name]; ok {
			p.event[name], _ = jsontext.AppendQuote(nil, s) // an attribute is valid UTF-8
		}
	}
	var err error
	if p.members, err = readObject(m.Data, orderNames...); err != nil {
		p.problem = invalid("the body cannot be read: %v", err)
	}
	return p
}

func openStructured(body []byte) *payload {
	p := &payload{}
	var err error
	if p.event, err = readObject(body, "type", "time", "data"); err != nil {
		p.problem = invalid("the event cannot be read: %v", err)
		return p
	}
	data, ok := p.event["data"]
	if !ok {
		p.problem = invalid("data of the event is missing, want an object")
		return p
	}
	if data.Kind() != '{' {
		p.problem = invalid("data of the event is %s, want an object", kindName(data.Kind()))
		return p
	}
	if p.members, err = readObject(data, orderNames...); err != nil {
		p.problem = invalid("data of the event cannot be read: %v", err)
	}
	return p
}

// lookup returns the named member, or the event's where that is absent or null, and what to call
// it. It returns nil when neither is there.
func (p *payload) lookup(name, ofEvent string) (v jsontext.Value, called string) {
	if v = p.members[name]; v != nil && v.Kind() != 'n' {
		return v, name
	}
	if v = p.event[ofEvent]; v != nil && v.Kind() != 'n' {
		return v, ofEvent + " of the event"
	}
	return nil, ""
}
