package tickpath.client;

/** The messages of a load, by account. */
final class Forms {
    private final Plan.Load load;
    private final int nonce;
    private final ClientIds ids;
    private final Form[] orders;
    private final Form[] cancels;

    /**
     * @param nonce differs between runs against the same exchange
     */
    Forms(final Plan.Load load, final int nonce) {
        this.load = load;
        this.nonce = nonce;
        ids = new ClientIds(nonce);
        orders = new Form[load.accounts()];
        cancels = new Form[load.accounts()];
        for (int account = 0; account < load.accounts(); account++) {
            name(account, null);
        }
    }

    /**
     * Adds {@code account_id} to the messages of the account; null: its connection has no other
     * account.
     */
    void name(final int account, final String accountId) {
        orders[account] = Form.order(load, ids.first(), accountId);
        cancels[account] = Form.cancel(load, ids.first(), accountId);
    }

    Form order(final int account) {
        return orders[account];
    }

    Form cancel(final int account) {
        return cancels[account];
    }

    ClientIds ids() {
        return ids;
    }

    int nonce() {
        return nonce;
    }
}
