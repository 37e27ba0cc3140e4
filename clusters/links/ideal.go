package links

import "secondhop/internal/units"

// Sizes of the headers that TCP puts around its data on a lab link, in bytes.
const (
	// MTU is that of every interface of the lab, pods included.
	MTU = 1500
	// etherHeader is counted by a qdisc, which sees the frame without preamble,
	// check sum and gap.
	etherHeader = 14
	ipv4Header  = 20
	tcpHeader   = 20
	// tcpTimestamps is the option that Linux sends with every segment: 10 bytes,
	// padded to 12.
	tcpTimestamps = 12
)

// GoodputShare is the part of a shaped rate that a bulk TCP transfer can use as
// data: payload over frame, (1500-20-20-12)/(1500+14) = 1448/1514 = 95.64 %.
func GoodputShare() float64 {
	return float64(MTU-ipv4Header-tcpHeader-tcpTimestamps) / float64(MTU+etherHeader)
}

// Ideal is the goodput that a link shaped to rate can carry at most.
func Ideal(rate units.BitRate) units.BitRate {
	return units.BitRate(float64(rate) * GoodputShare())
}
