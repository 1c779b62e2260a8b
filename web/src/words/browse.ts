/** Texts of choosing a folder of the host. */
export const browse = {} as const;
