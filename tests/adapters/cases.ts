/**
 * Every adapter and database that is driven.
 *
 * @module
 */
import type { AdapterCase } from "./adapter_case.ts";
import { drizzle } from "./drizzle.ts";
import { kysely } from "./kysely.ts";
import { mikroOrm } from "./mikro_orm.ts";
import { pgCases } from "./pg.ts";
import { prisma } from "./prisma.ts";
import { sequelize } from "./sequelize.ts";
import { typeorm } from "./typeorm.ts";
import { unstorage } from "./unstorage.ts";

/** In the order of the documentation. */
export const ADAPTER_CASES: readonly AdapterCase[] = [
  ...drizzle,
  ...kysely,
  ...prisma,
  ...typeorm,
  ...mikroOrm,
  ...sequelize,
  ...pgCases,
  ...unstorage,
];
