//! Cancel on disconnect across the loss of the exchange: the journal says which accounts asked for
//! it. After a start, an account that does not come back in time counts as disconnected.

use crate::account::sessions::AuthenticateError;
use crate::execution::Execution;
use std::collections::BTreeSet;
use transport::serve::Outbound;

/// The accounts that asked for `cancel_on_disconnect`.
#[derive(Default)]
pub(crate) struct Disconnects {
    /// Accounts of which the journal says so.
    logged: BTreeSet<u32>,
    /// Accounts that asked before this start, and have not come back.
    missing: BTreeSet<u32>,
    /// When their time is over; `None` until it has begun.
    deadline_ns: Option<u64>,
    /// How long they have.
    reconnect_ns: u64,
    /// Accounts that may not ask any more; the journal says that they did.
    withdrawn: BTreeSet<u32>,
}

impl Disconnects {
    /// `asked`: as the journal says. They have `reconnect_ns` to come back.
    pub fn new(asked: BTreeSet<u32>, reconnect_ns: u64) -> Disconnects {
        let missing = asked.clone();
        Disconnects { logged: asked, missing, reconnect_ns, ..Disconnects::default() }
    }

    /// Before an account is admitted: logs that it asked. The reply waits for the journal.
    ///
    /// # Errors
    /// The journal does not take it.
    pub fn log(
        &mut self,
        core: &mut Execution,
        account: u32,
        cancel_on_disconnect: Option<bool>,
        outbound: &mut Outbound,
    ) -> Result<(), AuthenticateError> {
        if cancel_on_disconnect != Some(true) || self.logged.contains(&account) {
            return Ok(());
        }
        let appended = core.sequencer.append_cancel_on_disconnect(account, true);
        if let Some(number) = appended.map_err(|_| AuthenticateError::NotLogged)? {
            self.logged.insert(account);
            if core.sequencer.is_sync() {
                outbound.hold(number + 1);
            }
        }
        Ok(())
    }

    /// An account was admitted: it has come back, and may ask no more.
    pub fn admitted(&mut self, core: &Execution, account: u32) {
        self.missing.remove(&account);
        if !core.sessions.asks_to_cancel(account) {
            self.withdraw(account);
        }
    }

    /// An account may ask no more.
    pub fn withdraw(&mut self, account: u32) {
        if self.logged.contains(&account) {
            self.withdrawn.insert(account);
        }
    }

    /// The accounts that did not come back in time: once. The time begins with the first call.
    pub fn overdue(&mut self, now_ns: u64) -> Vec<u32> {
        if self.missing.is_empty() {
            return Vec::new();
        }
        let deadline_ns = *self.deadline_ns.get_or_insert(now_ns.saturating_add(self.reconnect_ns));
        match now_ns >= deadline_ns {
            true => std::mem::take(&mut self.missing).into_iter().collect(),
            false => Vec::new(),
        }
    }

    /// Logs which accounts ask no more, once their orders are cancelled.
    pub fn settle(&mut self, core: &mut Execution, cancels_owed: &[u32]) {
        if self.withdrawn.is_empty() {
            return;
        }
        let Disconnects { withdrawn, logged, .. } = self;
        withdrawn.retain(|account| {
            if core.sessions.asks_to_cancel(*account) {
                return false;
            }
            if cancels_owed.contains(account) {
                return true;
            }
            let appended = core.sequencer.append_cancel_on_disconnect(*account, false);
            if appended.is_ok() {
                logged.remove(account);
            }
            appended.is_err()
        });
    }
}
