package loadgen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the record as one line of JSON, the same object that
// encoding/json writes but without its cost.
func (r *Record) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendUint(dst, r.ID, 10)
	dst = appendText(dst, `,"node":`, r.Node)
	dst = appendInt(dst, `,"scheduled":`, int64(r.Scheduled))
	dst = appendInt(dst, `,"sent":`, int64(r.Sent))
	dst = appendNonZero(dst, `,"firstByte":`, int64(r.FirstByte))
	dst = appendInt(dst, `,"done":`, int64(r.Done))
	dst = appendNonZero(dst, `,"connect":`, int64(r.Connect))
	dst = appendNonZero(dst, `,"status":`, int64(r.Status))
	dst = appendText(dst, `,"class":`, string(r.Class))
	dst = appendText(dst, `,"detail":`, r.Detail)
	dst = appendInt(dst, `,"bytes":`, r.Bytes)
	dst = appendText(dst, `,"ingressNode":`, r.IngressNode)
	dst = appendText(dst, `,"server":`, r.Server)
	dst = appendText(dst, `,"pod":`, r.Pod)
	dst = appendText(dst, `,"podNode":`, r.PodNode)
	if r.Reused {
		dst = append(dst, `,"reused":true`...)
	}
	dst = appendNonZero(dst, `,"port":`, int64(r.Port))
	return append(dst, '}', '\n')
}

func appendInt(dst []byte, key string, value int64) []byte {
	return strconv.AppendInt(append(dst, key...), value, 10)
}

func appendNonZero(dst []byte, key string, value int64) []byte {
	if value == 0 {
		return dst
	}
	return appendInt(dst, key, value)
}

func appendText(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, key...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(value) // cannot fail for a string
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, value...)
	return append(dst, '"')
}

// maxLine bounds one line of records; a longer one is no record of ours.
const maxLine = 1 << 20

// ReadRecords calls each with every record of a requests.jsonl, in the order in
// which requests ended, and stops at its first error. A last line that was cut
// off, as when the disk was full, is an error that names the line.
func ReadRecords(from io.Reader, each func(Record) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("records: line %d: %w", number, err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	return nil
}
