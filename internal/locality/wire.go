package locality

import "math"

// Wire says how the bytes of a message become bytes on a link. The zero value
// is a link without overhead: only the messages themselves count.
type Wire struct {
	// Segment is the payload of a full TCP segment in bytes.
	Segment float64
	// Header is what every segment carries besides, in bytes, Ethernet included.
	Header float64
	// Network is the part of Header that a counter at the IP layer sees.
	Network float64
	// Acked is the payload that one pure acknowledgement answers, in bytes.
	Acked float64
}

// EthernetWire is IPv4 with TCP timestamps on Ethernet of MTU 1500: segments of
// 1500-20-20-12 = 1448 bytes behind headers of 14+20+20+12 = 66. Links that pass
// segmentation-offloaded packets whole are acknowledged once per burst of up to
// 64 KiB; a queue that splits them is acknowledged per second segment, see Split.
func EthernetWire() Wire {
	return Wire{Segment: 1448, Header: 66, Network: 52, Acked: 65536}
}

// Split is the same wire behind a shaper that cuts large packets into segments:
// the receiver then acknowledges every second one.
func (w Wire) Split() Wire {
	w.Acked = 2 * w.Segment
	return w
}

// Carry is what a message of the given payload puts on the link in its own
// direction, in bytes.
func (w Wire) Carry(payload float64) float64 {
	if payload <= 0 {
		return 0
	}
	if w.Segment <= 0 {
		return payload
	}
	return payload + w.Header*math.Ceil(payload/w.Segment)
}

// acks is what the receiver of an answer sends back for it, in bytes.
func (w Wire) acks(payload float64) float64 {
	if payload <= 0 || w.Acked <= 0 {
		return 0
	}
	return w.Header * math.Ceil(payload/w.Acked)
}

// requestAcks is the same for a request. One that fits a segment costs nothing:
// its acknowledgement rides on the answer.
func (w Wire) requestAcks(payload float64) float64 {
	if payload <= w.Segment {
		return 0
	}
	return w.acks(payload)
}

// FromCounter estimates the bytes on the link from a counter at the IP layer
// that counts an offloaded packet once, such as an nftables counter: bytes with
// one network header per packet. It is low by at most one header per message,
// since it cannot see where a message ends in the middle of a segment.
func (w Wire) FromCounter(bytes, packets float64) float64 {
	payload := math.Max(0, bytes-w.Network*packets)
	segments := packets
	if w.Segment > 0 {
		segments = math.Max(packets, payload/w.Segment)
	}
	return payload + w.Header*segments
}
