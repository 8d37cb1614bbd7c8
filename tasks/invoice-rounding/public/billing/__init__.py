"""Billing for metered subscriptions: orders in, invoices, credits, payouts and postings out."""
