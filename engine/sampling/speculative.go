package sampling

// AcceptOneHot is the theory of rejection sampling for a draft that names one token for sure, against the target's
// distribution p: the probability of its acceptance, p[draft], and in residual [len(p)] what a rejected draft is replaced
// from, (p without the draft)/(1 − p[draft]), or zeros if nothing is left. Drafts are in fact accepted by equality with the
// sampled token, which accepts as often; reports compare with this.
func AcceptOneHot(residual, p []float64, draft int) (accept float64) {
	accept = p[draft]
	rest := 0.0
	for t, x := range p {
		if t != draft {
			rest += x
		}
	}
	for t, x := range p {
		residual[t] = 0
		if t != draft && rest > 0 {
			residual[t] = x / rest
		}
	}
	return accept
}
