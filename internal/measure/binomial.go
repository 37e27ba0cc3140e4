package measure

import "math"

// cdf is P(X <= k) for X binomial(n, p), through the incomplete beta function:
// P(X <= k) = I(1-p; n-k, k+1) (NIST Digital Library of Mathematical Functions 8.17.5).
func cdf(k, n int64, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n, p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	return incompleteBeta(1-p, float64(n-k), float64(k+1))
}

// tail is P(X >= k), without the cancellation of 1-cdf.
func tail(k, n int64, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n, p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	return incompleteBeta(p, float64(k), float64(n-k+1))
}

// incompleteBeta is the regularised incomplete beta function I(x; a, b).
func incompleteBeta(x, a, b float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	// The continued fraction converges fast below the mean of the beta
	// distribution; above it the symmetric form does.
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(1-x, b, a)
	}
	return math.Exp(logFront(x, a, b)) * betaFraction(x, a, b)
}

// logFront is the logarithm of x^a (1-x)^b / (a B(a,b)).
func logFront(x, a, b float64) float64 {
	sum, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	return sum - la - lb + a*math.Log(x) + b*math.Log1p(-x) - math.Log(a)
}

// betaFraction is the continued fraction of DLMF 8.17.22, by Lentz's method.
func betaFraction(x, a, b float64) float64 {
	const (
		tiny     = 1e-300
		accuracy = 1e-14
		// Terms needed grow as the root of max(a, b); this is enough for 10^9.
		terms = 200_000
	)
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	value := d
	for m := 1.0; m <= terms; m++ {
		for _, coefficient := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / away(1+coefficient*d)
			c = away(1 + coefficient/c)
			value *= c * d
		}
		if math.Abs(c*d-1) < accuracy {
			break
		}
	}
	return value
}

// normalQuantile is the z that a standard normal value is below with probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// least is the smallest k in [low, high] for which ok holds, which must be false
// up to some k and true from there on; high if it never is.
func least(low, high int64, ok func(int64) bool) int64 {
	for low < high {
		middle := low + (high-low)/2
		if ok(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
