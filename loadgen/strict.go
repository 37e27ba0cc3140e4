package loadgen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"secondhop/internal/failure"
)

// decodeStrict reads JSON into the struct that into points to, and goes on past
// faults, so that all of them can be told at once: unknown fields and values of
// the wrong kind, each with its path such as "targets[1].address".
func decodeStrict(text []byte, into any) []error {
	if !json.Valid(text) {
		// Unmarshal's error has the offset of the first bad byte.
		return []error{fmt.Errorf("not JSON: %w", json.Unmarshal(text, new(any)))}
	}
	return decodeValue(text, reflect.ValueOf(into).Elem(), "")
}

func decodeValue(text json.RawMessage, into reflect.Value, path string) []error {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.Equal(text, []byte("null")):
		return []error{at(path, errors.New("null is no value; leave the field out"))}
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decodeValue(text, into.Elem(), path)
	case into.Kind() == reflect.Struct:
		return decodeFields(text, into, path)
	case into.Kind() == reflect.Slice:
		return decodeItems(text, into, path)
	}
	if err := json.Unmarshal(text, into.Addr().Interface()); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			err = fmt.Errorf("%s where a %s is wanted", kind.Value, into.Kind())
		}
		return []error{at(path, err)}
	}
	return nil
}

func decodeFields(text json.RawMessage, into reflect.Value, path string) []error {
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return []error{at(path, errors.New("an object is wanted"))}
	}
	var faults []error
	fields := make(map[string]reflect.Value)
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = into.Field(i)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		inner := strings.TrimPrefix(path+"."+name, ".")
		field, ok := fields[name]
		if !ok {
			faults = append(faults, fmt.Errorf("%s: no such field; there are %s", inner,
				strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
			continue
		}
		faults = append(faults, decodeValue(values[name], field, inner)...)
	}
	return faults
}

func decodeItems(text json.RawMessage, into reflect.Value, path string) []error {
	var items []json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		return []error{at(path, errors.New("a list is wanted"))}
	}
	var faults []error
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		faults = append(faults, decodeValue(item, into.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
	}
	return faults
}

func at(path string, err error) error {
	if path == "" {
		path = "plan"
	}
	return fmt.Errorf("%s: %w", path, err)
}

// planError makes one error of all faults of a plan.
func planError(faults []error) error {
	return failure.Input(fmt.Errorf("plan: %w", errors.Join(faults...)), "correct the fields named above")
}
