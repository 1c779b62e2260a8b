/** Texts of the automations. */
export const automations = {
  title: 'Automations',
} as const;
