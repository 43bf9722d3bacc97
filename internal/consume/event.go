package consume

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A payload is a message out of its envelope.
type payload struct {
	members   map[string]jsontext.Value // of the body or the event's data; nil: not an object
	dataKind  string                    // what the event's data is instead
	eventType string                    // the CloudEvent's type: the kind where members lack it
	eventTime string                    // the CloudEvent's time: acceptedAt where they lack it
}

var orderNames = []string{"orderId", "kind", "source", "acceptedAt"}

// open takes a message out of its envelope: a structured CloudEvent, a binary one, or none
// (https://github.com/googleapis/google-cloudevents/blob/main/docs/spec/pubsub.md). The event's
// source and id stay behind: they name the emitter and the emission, which may change between
// two deliveries of one order.
func open(m Message) (*payload, error) {
	contentType := strings.TrimSpace(strings.ToLower(m.Attributes["content-type"]))
	if strings.HasPrefix(contentType, "application/cloudevents") {
		return openStructured(m.Data)
	}
	members, err := readObject(m.Data, orderNames...)
	if err != nil {
		return nil, invalid("the body cannot be read: %v", err)
	}
	return &payload{
		members:   members,
		eventType: m.Attributes["ce-type"],
		eventTime: m.Attributes["ce-time"],
	}, nil
}

func openStructured(body []byte) (*payload, error) {
	event, err := readObject(body, "type", "time", "data")
	if err != nil {
		return nil, invalid("the event cannot be read: %v", err)
	}
	p := &payload{dataKind: "missing"}
	if p.eventType, err = eventText(event, "type"); err != nil {
		return nil, err
	}
	if p.eventTime, err = eventText(event, "time"); err != nil {
		return nil, err
	}
	data, ok := event["data"]
	if !ok || data.Kind() != '{' {
		if ok {
			p.dataKind = kindName(data.Kind())
		}
		return p, nil
	}
	if p.members, err = readObject(data, orderNames...); err != nil {
		return nil, invalid("data of the event cannot be read: %v", err)
	}
	return p, nil
}

func eventText(event map[string]jsontext.Value, name string) (string, error) {
	v, ok := event[name]
	if !ok || v.Kind() == 'n' {
		return "", nil
	}
	s, ok := text(v)
	if !ok {
		return "", invalid("%s of the event is %s, want a string", name, kindName(v.Kind()))
	}
	return s, nil
}
