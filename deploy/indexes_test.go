package deploy

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlasmart/ordertally/internal/counter"
)

// An indexFile is firestore.indexes.json, by
// https://firebase.google.com/docs/reference/firestore/indexes.
type indexFile struct {
	Indexes        []index         `json:"indexes"`
	FieldOverrides []fieldOverride `json:"fieldOverrides"`
}

type index struct {
	CollectionGroup string       `json:"collectionGroup"`
	QueryScope      string       `json:"queryScope"`
	Fields          []indexField `json:"fields"`
}

type indexField struct {
	FieldPath string `json:"fieldPath"`
	Order     string `json:"order"`
}

type fieldOverride struct {
	CollectionGroup string       `json:"collectionGroup"`
	FieldPath       string       `json:"fieldPath"`
	TTL             bool         `json:"ttl"`
	Indexes         []indexField `json:"indexes"` // none: the field is exempt
}

// TestIndexes: the file has the composite indexes of the named queries and no other, and the
// exemptions that the code declares.
func TestIndexes(t *testing.T) {
	f, err := os.Open("firestore.indexes.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields() // the Firebase tool ignores what it does not know
	var got indexFile
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(indexesOf(counter.Queries(), counter.Exemptions()), got); diff != "" {
		t.Errorf("firestore.indexes.json (-the code's +the file's):\n%s", diff)
	}
}

// indexesOf is the file that the declarations ask for.
func indexesOf(queries []counter.NamedQuery, exemptions []counter.Exemption) (f indexFile) {
	for _, q := range queries {
		if q.Composite == nil {
			continue
		}
		i := index{CollectionGroup: q.Collection, QueryScope: "COLLECTION"}
		for _, field := range q.Composite {
			order := "ASCENDING"
			if field.Descending {
				order = "DESCENDING"
			}
			i.Fields = append(i.Fields, indexField{FieldPath: field.Path, Order: order})
		}
		f.Indexes = append(f.Indexes, i)
	}
	for _, e := range exemptions {
		f.FieldOverrides = append(f.FieldOverrides, fieldOverride{CollectionGroup: e.Collection,
			FieldPath: e.Field, TTL: e.TTL, Indexes: []indexField{}})
	}
	slices.SortFunc(f.FieldOverrides, func(a, b fieldOverride) int {
		return strings.Compare(a.CollectionGroup+"/"+a.FieldPath, b.CollectionGroup+"/"+b.FieldPath)
	})
	return f
}

// TestNamedQueries: every query says who makes it and what it needs, and no field of its own
// index is exempt.
func TestNamedQueries(t *testing.T) {
	exempt := map[string]bool{}
	for _, e := range counter.Exemptions() {
		exempt[e.Collection+"/"+e.Field] = true
		if e.Why == "" {
			t.Errorf("the exemption of %s/%s has no reason", e.Collection, e.Field)
		}
	}
	names := map[string]bool{}
	for _, q := range counter.Queries() {
		if q.Name == "" || names[q.Name] || q.Owner == "" || q.Composite == nil && q.Single == nil {
			t.Errorf("the query %+v lacks a name of its own, an owner or an index", q)
		}
		names[q.Name] = true
		for _, field := range q.Single {
			if exempt[q.Collection+"/"+field] {
				t.Errorf("the query %s needs the index of %s, which is exempt", q.Name, field)
			}
		}
	}
}
